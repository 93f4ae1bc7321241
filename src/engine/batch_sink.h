// BatchSink: turns a batch's endings into settlements, as deliveries end.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "strategies/strategy.h"

#include "engine/in_flight_deliveries.h"
#include "system/mutex.h"

namespace semel::engine {

// Endings are collected for a moment and settled together, in one call to the source. The engine
// collects those that wait behind a slow handler. The ending of a delivery that must be kept lands
// only at the batch's end: until then the strategy may still refer to the delivery. Followers that
// did not run land at the same time, because they must not land later than the delivery they
// follow.
class BatchSink final : public strategies::OutcomeSink {
 public:
  using Make = std::function<PendingSettlement(core::TrackedDelivery&, Outcome&)>;
  // Called after each ending, without a lock held; may end the sink's life.
  using Told = std::function<void()>;

  BatchSink(Make make, Told told) : make_(std::move(make)), told_(std::move(told)) {}

  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    {
      const system::MutexLock lock(mutex_);
      PendingSettlement pending = make_(delivery, outcome);
      (pending.keep == nullptr || pending.left ? pending_settlements_ : kept_).push_back(pending);
    }
    told_();
  }

  void waits(bool now) noexcept override { waits_.store(now, std::memory_order_relaxed); }
  // Thread-safe.
  bool waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

  void waited(std::optional<std::chrono::nanoseconds> time) noexcept override {
    const system::MutexLock lock(mutex_);
    if (!time) {
      waited_.reset();
    } else if (waited_) {
      *waited_ += *time;
    }
  }
  // `took` minus the time for which the batch waited for others; nullopt: unknown.
  std::optional<std::chrono::nanoseconds> own_time(std::chrono::nanoseconds took) const
      SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    if (!waited_) return std::nullopt;
    return std::max(took - *waited_, std::chrono::nanoseconds{0});
  }

  // Appends to `settlements` the deliveries that have ended since the last call.
  void collect(std::vector<PendingSettlement>& pending_settlements) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    move_to(pending_settlements, pending_settlements_);
  }
  // The same at the batch's end, with the kept ones.
  void collect_all(std::vector<PendingSettlement>& pending_settlements) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    move_to(pending_settlements, pending_settlements_);
    move_to(pending_settlements, kept_);
  }

 private:
  static void move_to(std::vector<PendingSettlement>& pending_settlements,
                      std::vector<PendingSettlement>& from) {
    pending_settlements.insert(pending_settlements.end(), from.begin(), from.end());
    from.clear();
  }

  const Make make_;
  const Told told_;
  std::atomic<bool> waits_{false};
  mutable system::Mutex mutex_;
  std::optional<std::chrono::nanoseconds> waited_ SEMEL_GUARDED_BY(mutex_) =
      std::chrono::nanoseconds{0};
  std::vector<PendingSettlement> pending_settlements_ SEMEL_GUARDED_BY(mutex_);
  std::vector<PendingSettlement> kept_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::engine
