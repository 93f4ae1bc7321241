#include "sources/redis_streams/ledger.h"

#include <algorithm>
#include <utility>

namespace semel::redis_streams {

bool Ledger::arrived(const EntryId& id, std::unique_ptr<Arrival> arrival, bool renewed) {
  if (acked_.contains(id)) return false;
  const auto [at, fresh] = ours_.try_emplace(id, renewed);
  at->second = renewed;
  if (fresh) deliveries_.arrived(deliveries_.end(), {id, std::move(arrival)});
  return fresh;
}

Ledger::Taken Ledger::take() {
  const auto taken = deliveries_.take();
  if (taken.value == nullptr) return {};
  return {taken.position, taken.value->id, taken.value->arrival.get()};
}

bool Ledger::settle(std::uint64_t number, Settlement::Kind kind) {
  if (number < deliveries_.passed() || number >= deliveries_.end()) return false;
  const InHand* const held = deliveries_.open_value(number);
  if (held == nullptr) return false;
  const EntryId id = held->id;
  if (!deliveries_.settle(number, kind)) return false;
  if (kind == Settlement::Kind::kAck || kind == Settlement::Kind::kGone) {
    ours_.erase(id);
    acked_.insert(id);
  }
  return true;
}

std::vector<EntryId> Ledger::acks(std::size_t most) const {
  std::vector<EntryId> ids;
  ids.reserve(std::min(most, acked_.size()));
  for (const EntryId& id : acked_) {
    if (ids.size() == most) break;
    ids.push_back(id);
  }
  return ids;
}

void Ledger::acknowledged(const std::vector<EntryId>& ids) {
  for (const EntryId& id : ids) acked_.erase(id);
}

std::vector<EntryId> Ledger::ours() const {
  std::vector<EntryId> ids;
  ids.reserve(ours_.size());
  for (const auto& [id, pending] : ours_) {
    if (pending) ids.push_back(id);
  }
  return ids;
}

std::size_t Ledger::ours_behind(const EntryId& id) const {
  return static_cast<std::size_t>(std::count_if(ours_.upper_bound(id), ours_.end(),
                                                [](const auto& one) { return one.second; }));
}

std::size_t Ledger::only_ours(const EntryId& behind, const EntryId& last,
                              const std::vector<EntryId>& there) {
  std::size_t lost = 0;
  auto next = there.begin();
  for (auto at = ours_.upper_bound(behind); at != ours_.end() && at->first <= last; ++at) {
    next = std::lower_bound(next, there.end(), at->first);
    if (!at->second || (next != there.end() && *next == at->first)) continue;
    at->second = false;
    ++lost;
  }
  return lost;
}

}  // namespace semel::redis_streams
