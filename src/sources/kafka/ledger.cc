#include "sources/kafka/ledger.h"

namespace semel::kafka {

void Ledger::handed_out(std::int64_t offset, const Arrival& arrival) {
  tracker_.received(static_cast<std::uint64_t>(offset));
  open_.emplace_hint(open_.end(), offset, arrival);
  last_ = offset;
}

std::optional<Arrival> Ledger::take_given_back() {
  if (given_back_.empty()) return std::nullopt;
  const auto first = given_back_.begin();
  const auto found = open_.find(*first);
  given_back_.erase(first);
  return found->second;
}

bool Ledger::settle(std::int64_t offset, Settlement::Kind kind) {
  const auto found = open_.find(offset);
  if (found == open_.end() || given_back_.contains(offset)) return false;
  if (kind == Settlement::Kind::kAck || kind == Settlement::Kind::kGone) {
    tracker_.settled(static_cast<std::uint64_t>(offset));
    open_.erase(found);
  } else {
    given_back_.insert(offset);
  }
  return true;
}

std::optional<std::int64_t> Ledger::take_commit() {
  if (!to_commit()) return std::nullopt;
  asked_ = static_cast<std::int64_t>(*tracker_.prefix()) + 1;
  return asked_;
}

bool Ledger::to_commit() const noexcept {
  const auto prefix = tracker_.prefix();
  return prefix && static_cast<std::int64_t>(*prefix) + 1 > asked_;
}

}  // namespace semel::kafka
