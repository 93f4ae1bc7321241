// FinishCollector: collects how deliveries end, records many in one finish, then reports them to
// the sink.
//
// For work outside of a transaction. A finish costs a sync: so outcomes are collected while
// handlers are fast, and recorded when they have waited long enough.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/finish.h>
#include "strategies/strategy.h"

#include "strategies/resolver.h"
#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel::strategies {

class FinishCollector {
 public:
  FinishCollector(const Context& context, OutcomeSink& sink)
      : context_(context), sink_(sink), told_at_(context.environment->clock->now()) {}

  // The watch whose leases are ended with it; null: none.
  void watch(HandlerMonitor::Watch* watch) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    watch_ = watch;
  }

  // Ends the delivery once the store has applied its Finish, and immediately where there is none.
  // `lease`: its number in the watch.
  void add(core::TrackedDelivery& delivery, Resolution resolution,
           std::optional<std::size_t> lease = std::nullopt) SEMEL_EXCLUDES(mutex_);
  // The same for a delivery of another batch, with its own sink and watch.
  void add(core::TrackedDelivery& delivery, Resolution resolution, OutcomeSink& sink,
           HandlerMonitor::Watch* watch, std::size_t lease);

  // Starts the collecting: the time of the claim must not count as waiting, or the first outcome
  // would be recorded alone.
  void handlers_begin() SEMEL_EXCLUDES(mutex_);
  // Records the collected outcomes if they have waited long enough.
  void flush_if_due() SEMEL_EXCLUDES(mutex_);
  // The same on the monitor's thread while a handler runs: tries once.
  void flush_beside_handler() noexcept;
  // Records them; those that the store does not accept in bounded time are given back.
  void flush() SEMEL_EXCLUDES(mutex_);
  // For a store that was unavailable a moment ago: tries once, and gives back what it does not
  // accept.
  void flush_or_give_back() SEMEL_EXCLUDES(mutex_);
  // The error for which deliveries were given back, if any were.
  std::optional<Error> given_back_for() const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return given_back_for_;
  }

 private:
  struct Item {
    core::TrackedDelivery* delivery;
    Outcome outcome;
    OutcomeSink* sink;
    HandlerMonitor::Watch* watch;  // null: no lease
    std::size_t lease;
    std::unique_ptr<Message> unkept = nullptr;  // the message to keep, without its payload
    void lease_ended() const {
      if (watch != nullptr) watch->finished(lease);
    }
  };
  void collect(Resolution&& resolution, Item item) SEMEL_REQUIRES(mutex_);

  bool due() const SEMEL_REQUIRES(mutex_);
  bool hurries() const SEMEL_REQUIRES(mutex_);
  void tell(bool patient) SEMEL_REQUIRES(mutex_);
  // False where the store could not answer.
  bool try_tell(std::size_t first, std::size_t count) SEMEL_REQUIRES(mutex_);
  void end(std::size_t at, Applied applied) SEMEL_REQUIRES(mutex_);
  // After a lost answer, or a lost lease: asks the record whether the finish was applied.
  void resolve(std::size_t at) SEMEL_REQUIRES(mutex_);
  bool leave_out_payload(std::size_t at) SEMEL_REQUIRES(mutex_);
  void give_back(std::size_t first, std::size_t count) SEMEL_REQUIRES(mutex_);
  void clear() SEMEL_REQUIRES(mutex_);

  const Context& context_;
  OutcomeSink& sink_;
  mutable system::Mutex mutex_;
  HandlerMonitor::Watch* watch_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  std::vector<Finish> finishes_ SEMEL_GUARDED_BY(mutex_);
  std::vector<Item> items_ SEMEL_GUARDED_BY(mutex_);  // parallel to finishes_
  std::chrono::steady_clock::time_point told_at_ SEMEL_GUARDED_BY(mutex_);
  // The thread that has the batch is the one that records: its waits are the batch's.
  bool batch_waits_ SEMEL_GUARDED_BY(mutex_) = false;
  bool in_doubt_ SEMEL_GUARDED_BY(mutex_) = false;
  Error error_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> given_back_for_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::strategies
