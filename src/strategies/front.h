// Front: a window in front of a consumer's records, and the secret that proves its answers.
//
// The secret is in the store. Each process writes a new one when it begins and after the store was
// unavailable, since the store may then be an older copy (a backup, a replica that took over);
// forgetting a record writes a new one too. A process reads it every kTurnEvery, and trusts it
// until kFrontTrusted after the beginning of that read. The window's entries are made with the
// secret that was known before the record was asked: so no entry under the present secret is older
// than the secret.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/front.h>
#include <semel/message.h>
#include <semel/observer.h>
#include <semel/outcome.h>
#include <semel/spi/delivery.h>
#include <semel/spi/run_markers.h>
#include "strategies/strategy.h"

#include "system/mutex.h"

namespace semel::strategies {

struct FrontOptions {
  std::string consumer;
  ConsumerNumber number{};
  Positions* positions = nullptr;       // where the secret is stored; borrowed
  std::shared_ptr<FrontWindow> window;  // never null
  Environment* environment = nullptr;
  Observer* observer = nullptr;  // is called once when the window fails, and once when it is back
  // Tests call turn() themselves; otherwise a thread does, every kTurnEvery.
  bool own_thread = true;
};

// Thread-safe.
class Front {
 public:
  explicit Front(FrontOptions options);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  struct Lookup {
    std::vector<bool> completed;  // of each message, in their order
    Bytes secret;                 // for keep() of the other messages; empty: do not keep them
  };
  Lookup look(std::span<const Message* const> messages);
  // The same for deliveries. A delivery from the store, and a suspect one, is never answered.
  Lookup look(std::span<const core::TrackedDelivery> deliveries);
  // Call it after the record was found or made completed, with the secret of the look before it.
  void keep(BytesView secret, const Message& message) noexcept;
  // The store was unavailable.
  void doubt() noexcept SEMEL_EXCLUDES(mutex_);

  // One round of the thread: reads the secret, and checks a window that failed.
  void turn();

  // Since the front was made.
  struct Counts {
    std::uint64_t asked = 0;     // how often the window was asked about a delivery
    std::uint64_t answered = 0;  // how often its answer was trusted
  };
  Counts counts() const noexcept;

 private:
  using Elapsed = std::chrono::nanoseconds;  // by Clock::elapsed

  FrontEntry entry_of(BytesView secret, const Message& message) const;
  void look_at_secret() SEMEL_EXCLUDES(mutex_);
  void check_window() SEMEL_EXCLUDES(telling_);
  void away(const Error& error) SEMEL_EXCLUDES(telling_);
  void loop() SEMEL_EXCLUDES(mutex_);
  Elapsed elapsed() const { return options_.environment->clock->elapsed(); }

  const FrontOptions options_;
  std::atomic<bool> away_{false};
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};
  system::Mutex telling_;  // orders the reports about the window
  system::Mutex mutex_;
  system::CondVar wake_;
  Bytes secret_ SEMEL_GUARDED_BY(mutex_);  // empty: none was read yet
  Elapsed trusted_until_ SEMEL_GUARDED_BY(mutex_){};
  bool reseal_ SEMEL_GUARDED_BY(mutex_) = true;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Whether the record is completed and durable, so that a window may have it.
bool shows_completed(const Outcome& outcome) noexcept;

// The outcome of a delivery whose key the window knows to be completed.
Outcome answered_by_front();

// `inner` behind the front, which is borrowed.
std::unique_ptr<Strategy> make_fronted(std::unique_ptr<Strategy> inner, Front& front);

}  // namespace semel::strategies
