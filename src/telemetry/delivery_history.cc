#include "telemetry/delivery_history.h"

namespace semel::telemetry {

OutcomeGroup group_of(Outcome::Kind kind) noexcept {
  switch (kind) {
    case Outcome::Kind::kDone:
    case Outcome::Kind::kDiscarded:
      return OutcomeGroup::kDone;
    case Outcome::Kind::kDuplicate:
      return OutcomeGroup::kDuplicate;
    case Outcome::Kind::kRetry:
    case Outcome::Kind::kBusy:
      return OutcomeGroup::kRetry;
    case Outcome::Kind::kDead:
    case Outcome::Kind::kConflict:
      break;
    case Outcome::Kind::kParked:
      return OutcomeGroup::kParked;
  }
  return OutcomeGroup::kDead;
}

void DeliveryHistory::sample() {
  const auto totals = metrics_.outcomes();
  const system::MutexLock lock(mutex_);
  for (const auto& [name, outcomes] : totals) {
    GroupCounts now{};
    for (std::size_t kind = 0; kind < outcomes.size(); ++kind) {
      now[static_cast<std::size_t>(group_of(static_cast<Outcome::Kind>(kind)))] += outcomes[kind];
    }
    Consumer& consumer = consumers_[name];
    GroupCounts passed{};
    // If the count restarted at zero, all of it happened since.
    for (std::size_t i = 0; i < kOutcomeGroups; ++i) {
      passed[i] = now[i] - (now[i] < consumer.last[i] ? 0 : consumer.last[i]);
    }
    consumer.last = now;
    consumer.intervals.push_back(passed);
    if (consumer.intervals.size() > kIntervals) consumer.intervals.pop_front();
  }
}

std::vector<GroupCounts> DeliveryHistory::intervals(const std::string& consumer) const {
  const system::MutexLock lock(mutex_);
  const auto found = consumers_.find(consumer);
  if (found == consumers_.end()) return {};
  return {found->second.intervals.begin(), found->second.intervals.end()};
}

}  // namespace semel::telemetry
