// The age gate of a consumer, between the claim of a message and its handler (docs/contract.md,
// rule 13). The store's clock decides how old a message is, and its claim whether it has a record.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/claim.h>
#include <semel/spi/source.h>

#include "core/age_gate.h"
#include "core/tracked_delivery.h"
#include "strategies/decision.h"
#include "strategies/resolver.h"

namespace semel::strategies {

// Shared by the engine and the strategies of one consumer. Thread-safe.
//
// The wall clock of this machine has no say. The gate reads the store's clock now and then, adds
// the time that has elapsed since, and reads it again for each batch with a message that may be too
// old.
class AgeGate {
 public:
  using ReadClock = std::function<Result<StoreTime>()>;
  using TimePoint = std::chrono::system_clock::time_point;

  // `read_clock` reads the store's clock. `clock` is borrowed.
  AgeGate(core::AgeLimit limit, ReadClock read_clock, Clock& clock);

  // How late the consumer's source can deliver a message again. Nothing is too old unless that is
  // known, and has an end.
  void note(const Horizon& horizon) noexcept { note(horizon.longest); }
  void note(std::optional<std::chrono::milliseconds> horizon) noexcept {
    judges_.store(horizon.has_value(), std::memory_order_relaxed);
  }
  bool judges() const noexcept { return judges_.load(std::memory_order_relaxed); }

  // Keeps the earlier of `oldest` and the time of the delivery, if it has one.
  static void find_oldest(const Arrival& arrival, std::optional<TimePoint>& oldest);
  // The store's time; nullopt: clearly nothing since `oldest` is too old. An error means that the
  // store could not tell: then nothing may be handled.
  Result<std::optional<StoreTime>> time_for(std::optional<TimePoint> oldest);

  // The decision for a message that is too old at `now`, if it has no record.
  std::optional<Decision> refuse(const Arrival& arrival, StoreTime now) const;
  // The same after its claim: nullopt also where that found a record.
  std::optional<Decision> refuse(const Arrival& arrival, const Acquired& acquired,
                                 StoreTime now) const;

 private:
  Result<StoreTime> read();
  std::chrono::milliseconds elapsed() const noexcept;

  const core::AgeLimit limit_;
  const ReadClock read_clock_;
  Clock& clock_;
  std::atomic<bool> judges_{false};
  // The store's time minus the elapsed time, and the latter at that reading, in milliseconds.
  std::atomic<std::int64_t> offset_{0};
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> read_at_{kNever};
};

// Parks or discards, in one commit with its claim, each of these messages that is too old at `now`
// and has no record: no kill can leave a claim of it behind. Calls `ended` with its outcome. Leaves
// all others as they were; and all of them where the store has no transactions, or could not do it.
void refuse_at_once(const Context& context, std::span<core::TrackedDelivery* const> deliveries,
                    StoreTime now,
                    const std::function<void(core::TrackedDelivery&, Resolution)>& ended);

}  // namespace semel::strategies
