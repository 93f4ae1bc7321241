// Observer: sees what happens, for metrics, logs and tests. It changes nothing.
//
// Called from the threads that do the work, several at a time: return fast, and do not throw. Its
// arguments are borrowed for the call.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/error.h>
#include <semel/outcome.h>
#include <semel/spi/delivery.h>

namespace semel {

struct ConsumerInfo {
  std::string name;
  std::vector<std::string> sources;              // their names; Arrival::source is the index
  std::string handler;                           // "sql", "http", …; empty: unknown
  std::optional<std::chrono::milliseconds> ttl;  // of finished records; nullopt: kept for ever
};

// Components that on_trouble names, in addition to the names of sources.
inline constexpr std::string_view kStoreComponent = "store";
inline constexpr std::string_view kFrontComponent = "front window";  // consumers work without it

class Observer {
 public:
  virtual ~Observer() = default;

  // Once for each consumer, before it receives.
  virtual void on_consumer(const ConsumerInfo& consumer) noexcept { (void)consumer; }

  virtual void on_received(std::string_view consumer, std::size_t deliveries) noexcept {
    (void)consumer, (void)deliveries;
  }
  // Once for each delivery, after its record is durable and before it is settled. `took` is from
  // receive to here.
  virtual void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                        std::chrono::nanoseconds took) noexcept {
    (void)consumer, (void)delivery, (void)outcome, (void)took;
  }
  // A message without a key, or one that could not be read, became a dead letter without a
  // delivery. The arrival is complete.
  virtual void on_refused(std::string_view consumer, const Arrival& arrival,
                          std::string_view reason, std::string_view error) noexcept {
    (void)consumer, (void)arrival, (void)reason, (void)error;
  }
  // The message was kept in the store, behind others of its ordering group or because the consumer
  // defers, and settled at its source; it comes again from the store.
  virtual void on_held(std::string_view consumer, const Delivery& delivery) noexcept {
    (void)consumer, (void)delivery;
  }
  // The handler continued after its lease had ended or was taken over; its result is refused.
  virtual void on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept {
    (void)consumer, (void)delivery;
  }
  // Dead letters past their time were removed from the store (dead_letter.expire).
  virtual void on_letters_expired(std::string_view consumer, std::size_t letters) noexcept {
    (void)consumer, (void)letters;
  }
  // The store, a source or another component (`where`) failed; called once when that begins, and
  // once, with `mended`, when it is over.
  virtual void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                          bool mended) noexcept {
    (void)consumer, (void)where, (void)error, (void)mended;
  }
  // Anything else that is worth a line in a log: suspect mode, a takeover, a drain, a guarantee
  // that was lowered.
  virtual void on_notice(std::string_view consumer, std::string_view text) noexcept {
    (void)consumer, (void)text;
  }
};

}  // namespace semel
