// Finisher: collects how deliveries end, tells the store many at a time, then the sink.
//
// For what runs outside of a transaction. A finish costs a sync: so endings are collected while
// handlers are fast, and told when they have waited long enough.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/finish.h>
#include "strategies/strategy.h"

#include "strategies/endings.h"
#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::strategies {

class Finisher {
 public:
  Finisher(const Context& context, EndingSink& sink)
      : context_(context), sink_(sink), told_at_(context.environment->clock->now()) {}

  // Whose leases are ended with it; null where there is none.
  void watch(Keeper::Watch* watch) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    watch_ = watch;
  }

  // The delivery ends so once the store has applied its Finish; at once where there is none.
  // `lease`: its number in the watch.
  void add(core::TrackedDelivery& delivery, Ending ending,
           std::optional<std::size_t> lease = std::nullopt) SEMEL_EXCLUDES(mutex_);
  // The same for a delivery of another batch, with its own sink and watch.
  void add(core::TrackedDelivery& delivery, Ending ending, EndingSink& sink, Keeper::Watch* watch,
           std::size_t lease);

  // From here on endings are collected: the time that the claim took is nobody's wait, and would
  // have the first ending told by itself.
  void handlers_begin() SEMEL_EXCLUDES(mutex_);
  // Tells the store when what was collected has waited long enough.
  void flush_if_due() SEMEL_EXCLUDES(mutex_);
  // The same, from the keeper's thread while a handler runs: tries once.
  void flush_beside_handler() noexcept;
  // Tells the store; what it will not take in bounded time is given back.
  void flush() SEMEL_EXCLUDES(mutex_);
  // For a store that was away a moment ago: tries once, and gives back what it does not take.
  void flush_or_give_back() SEMEL_EXCLUDES(mutex_);
  // For which error deliveries were given back, if any were.
  std::optional<Error> given_back_for() const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return given_back_for_;
  }

 private:
  struct Item {
    core::TrackedDelivery* delivery;
    Outcome outcome;
    EndingSink* sink;
    Keeper::Watch* watch;  // null: no lease
    std::size_t lease;
    std::unique_ptr<Message> unkept = nullptr;  // what is kept of it without its payload
    void lease_ended() const {
      if (watch != nullptr) watch->finished(lease);
    }
  };
  void collect(Ending&& ending, Item item) SEMEL_REQUIRES(mutex_);

  bool due() const SEMEL_REQUIRES(mutex_);
  void tell(bool patient) SEMEL_REQUIRES(mutex_);
  // False where the store could not say.
  bool try_tell(std::size_t first, std::size_t count) SEMEL_REQUIRES(mutex_);
  void end(std::size_t at, Applied applied) SEMEL_REQUIRES(mutex_);
  // A finish whose answer was lost was applied, or the lease is gone: the record knows.
  void resolve(std::size_t at) SEMEL_REQUIRES(mutex_);
  bool leave_out_payload(std::size_t at) SEMEL_REQUIRES(mutex_);
  void give_back(std::size_t first, std::size_t count) SEMEL_REQUIRES(mutex_);
  void clear() SEMEL_REQUIRES(mutex_);

  const Context& context_;
  EndingSink& sink_;
  mutable system::Mutex mutex_;
  Keeper::Watch* watch_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  std::vector<Finish> finishes_ SEMEL_GUARDED_BY(mutex_);
  std::vector<Item> items_ SEMEL_GUARDED_BY(mutex_);  // beside finishes_
  std::chrono::steady_clock::time_point told_at_ SEMEL_GUARDED_BY(mutex_);
  bool in_doubt_ SEMEL_GUARDED_BY(mutex_) = false;
  Error error_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> given_back_for_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::strategies
