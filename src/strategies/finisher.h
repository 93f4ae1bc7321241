// Finisher: collects how deliveries end, tells the store many at a time, then the sink.
//
// For what runs outside of a transaction. A finish costs a sync: so endings are collected while
// handlers are fast, and told when they have waited long enough.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include <semel/delivery.h>
#include <semel/finish.h>
#include <semel/strategy.h>

#include "strategies/endings.h"
#include "strategies/strategies.h"

namespace semel::strategies {

class Finisher {
 public:
  Finisher(const Context& context, EndingSink& sink)
      : context_(context), sink_(sink), told_at_(context.environment->clock->now()) {}

  // Whose leases are ended with it; null where there is none.
  void watch(Keeper::Watch* watch) {
    std::lock_guard lock(mutex_);
    watch_ = watch;
  }

  // The delivery ends so once the store has applied its Finish; at once where there is none.
  // `lease`: its number in the watch.
  void add(Delivery& delivery, Ending ending, std::optional<std::size_t> lease = std::nullopt);
  // The same for a delivery of another batch, with its own sink and watch.
  void add(Delivery& delivery, Ending ending, EndingSink& sink, Keeper::Watch* watch,
           std::size_t lease);

  // Tells the store when what was collected has waited long enough.
  void flush_if_due();
  // The same, from the keeper's thread while a handler runs: tries once.
  void flush_beside_handler() noexcept;
  // Tells the store; what it will not take in bounded time is given back.
  void flush();
  // For which error deliveries were given back, if any were.
  const std::optional<Error>& given_back_for() const noexcept { return given_back_for_; }

 private:
  struct Item {
    Delivery* delivery;
    Outcome outcome;
    EndingSink* sink;
    Keeper::Watch* watch;  // null: no lease
    std::size_t lease;
    void lease_ended() const {
      if (watch != nullptr) watch->finished(lease);
    }
  };
  void collect(Ending&& ending, Item item);

  bool due() const;
  void tell(bool patient);
  // False where the store could not say.
  bool try_tell(std::size_t first, std::size_t count);
  void end(std::size_t at, Applied applied);
  // A finish whose answer was lost was applied, or the lease is gone: the record knows.
  void resolve(std::size_t at);
  void give_back(std::size_t first, std::size_t count);
  void clear();

  const Context& context_;
  EndingSink& sink_;
  Keeper::Watch* watch_ = nullptr;
  std::mutex mutex_;
  std::vector<Finish> finishes_;
  std::vector<Item> items_;  // beside finishes_
  std::chrono::steady_clock::time_point told_at_;
  bool in_doubt_ = false;
  Error error_;
  std::optional<Error> given_back_for_;
};

}  // namespace semel::strategies
