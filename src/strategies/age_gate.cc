#include "strategies/age_gate.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <semel/reason.h>
#include <semel/spi/unit_of_work.h>

#include "strategies/writer_share.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

// How long the time since a reading of the store's clock is good enough to see that nothing is near
// its limit.
constexpr milliseconds kReadingLasts = std::chrono::minutes(10);
// By that estimate, messages older than this part of their limit are looked at by the clock itself.
constexpr int kLooksOldPart = 2;

}  // namespace

AgeGate::AgeGate(core::AgeLimit limit, ReadClock read_clock, Clock& clock)
    : limit_(limit), read_clock_(std::move(read_clock)), clock_(clock) {}

void AgeGate::find_oldest(const Arrival& arrival, std::optional<TimePoint>& oldest) {
  if (!core::has_age(arrival)) return;
  if (!oldest || *arrival.broker_time < *oldest) oldest = *arrival.broker_time;
}

milliseconds AgeGate::elapsed() const noexcept {
  return std::chrono::floor<milliseconds>(clock_.elapsed());
}

Result<StoreTime> AgeGate::read() {
  auto now = read_clock_();
  if (!now) return now;
  const std::int64_t at = elapsed().count();
  offset_.store(now->time_since_epoch().count() - at, std::memory_order_relaxed);
  read_at_.store(at, std::memory_order_release);
  return now;
}

Result<std::optional<StoreTime>> AgeGate::time_for(std::optional<TimePoint> oldest) {
  if (!judges() || !oldest) return std::optional<StoreTime>();
  const std::int64_t at = elapsed().count();
  const std::int64_t read_at = read_at_.load(std::memory_order_acquire);
  if (read_at != kNever && at - read_at < kReadingLasts.count()) {
    const StoreTime estimate{milliseconds(at + offset_.load(std::memory_order_relaxed))};
    if (estimate - *oldest <= limit_.oldest / kLooksOldPart) return std::optional<StoreTime>();
  }
  auto now = read();
  if (!now) return failure(std::move(now.error()));
  return std::optional(*now);
}

std::optional<Decision> AgeGate::refuse(const Arrival& arrival, StoreTime now) const {
  if (!judges() || !core::has_age(arrival)) return std::nullopt;
  const auto age = std::chrono::floor<milliseconds>(now - *arrival.broker_time);
  if (age <= limit_.oldest) return std::nullopt;
  Decision decision;
  decision.kind = limit_.discards ? Decision::Kind::kDiscarded : Decision::Kind::kParked;
  decision.reason = reason::kTooOld;
  decision.error = core::too_old_text(limit_, age);
  decision.untried = true;
  return decision;
}

std::optional<Decision> AgeGate::refuse(const Arrival& arrival, const Acquired& acquired,
                                        StoreTime now) const {
  return ClaimInfo::of(acquired).made_record() ? refuse(arrival, now) : std::nullopt;
}

namespace {

// One transaction over messages that are too old: where none of them has a record, they end in it.
class RefusingUnit {
 public:
  RefusingUnit(const Context& context, std::vector<core::TrackedDelivery*> deliveries,
               StoreTime now)
      : context_(context), deliveries_(std::move(deliveries)), now_(now) {}

  // The outcomes of the committed ones. An error leaves it to the claim to find out how they are.
  std::vector<std::pair<core::TrackedDelivery*, Outcome>> run() {
    WriterShare::Call call(context_.writer_share.get());
    auto begun = context_.store->facets().transactional->begin(UnitOptions());
    if (!begun) return {};
    const std::unique_ptr<UnitOfWork> unit = *std::move(begun);
    std::vector<const Message*> messages;
    for (const core::TrackedDelivery* delivery : deliveries_)
      messages.push_back(&delivery->message);
    const auto claims = unit->claim(messages);
    if (!claims || claims->size() != deliveries_.size()) return {};
    for (std::size_t i = 0; i < deliveries_.size(); ++i) plan(*deliveries_[i], (*claims)[i]);
    if (outcomes_.empty() || claims_others_) return {};
    const auto applied = unit->finish(finishes_);
    if (!applied || std::ranges::count(*applied, Applied::kLeaseLost) > 0) return {};
    if (!unit->commit()) return {};
    return std::move(outcomes_);
  }
  // Where others were claimed too, nothing is committed: that would undo their claims, and hide
  // that a lease had ended. The messages without a record are to be asked about alone.
  std::vector<core::TrackedDelivery*> those_alone() const {
    std::vector<core::TrackedDelivery*> alone;
    if (!claims_others_) return alone;
    for (const auto& [delivery, outcome] : outcomes_) alone.push_back(delivery);
    return alone;
  }

 private:
  void plan(core::TrackedDelivery& delivery, const Claim& claim) {
    const auto* const acquired = std::get_if<Acquired>(&claim);
    if (acquired == nullptr) return;
    const auto refused = context_.age_gate->refuse(delivery.arrival, *acquired, now_);
    if (!refused) {
      claims_others_ = true;
      return;
    }
    Resolution resolution =
        Resolver(context_, false).of_decision(ClaimInfo::of(*acquired), *refused, delivery);
    finishes_.push_back(*std::move(resolution.finish));
    outcomes_.emplace_back(&delivery, std::move(resolution.outcome));
  }

  const Context& context_;
  const std::vector<core::TrackedDelivery*> deliveries_;
  const StoreTime now_;
  bool claims_others_ = false;
  std::vector<Finish> finishes_;
  std::vector<std::pair<core::TrackedDelivery*, Outcome>> outcomes_;
};

}  // namespace

void refuse_at_once(const Context& context, std::span<core::TrackedDelivery* const> deliveries,
                    StoreTime now,
                    const std::function<void(core::TrackedDelivery&, Resolution)>& ended) {
  if (context.store->facets().transactional == nullptr) return;
  std::vector<core::TrackedDelivery*> old;
  for (core::TrackedDelivery* delivery : deliveries) {
    if (context.age_gate->refuse(delivery->arrival, now)) old.push_back(delivery);
  }
  while (!old.empty()) {
    RefusingUnit unit(context, std::move(old), now);
    for (auto& [delivery, outcome] : unit.run()) {
      ended(*delivery, {std::move(outcome), std::nullopt});
    }
    old = unit.those_alone();
  }
}

}  // namespace semel::strategies
