#include "sources/rabbitmq/ledger.h"

#include <iterator>
#include <utility>

namespace semel::rabbitmq {

void Ledger::arrived(std::uint64_t tag, Arrival arrival) {
  open_.emplace_hint(open_.end(), tag, std::move(arrival));
  waiting_.insert(waiting_.end(), tag);
}

std::optional<Arrival> Ledger::take() {
  if (waiting_.empty()) return std::nullopt;
  const auto first = waiting_.begin();
  const auto found = open_.find(*first);
  waiting_.erase(first);
  return found->second;
}

bool Ledger::settle(std::uint64_t tag, Settlement::Kind kind) {
  const auto found = open_.find(tag);
  if (found == open_.end() || waiting_.contains(tag)) return false;
  if (kind == Settlement::Kind::kAck || kind == Settlement::Kind::kGone) {
    open_.erase(found);
    acked_.insert(tag);
  } else {
    waiting_.insert(tag);
  }
  return true;
}

// One frame for all up to the first that is not settled, and one for each behind it: a slow message
// keeps nobody's acknowledgement back, and so neither prefetch nor the broker's patience is used up
// by what is long done.
std::vector<Ledger::Ack> Ledger::take_acks() {
  std::vector<Ack> acks;
  auto behind = open_.empty() ? acked_.end() : acked_.lower_bound(open_.begin()->first);
  if (behind != acked_.begin()) {
    acks.push_back({*std::prev(behind), std::next(acked_.begin()) != behind});
  }
  for (; behind != acked_.end(); ++behind) acks.push_back({*behind, false});
  acked_.clear();
  return acks;
}

}  // namespace semel::rabbitmq
