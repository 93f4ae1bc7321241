#include "sources/redis_streams/ledger.h"

#include <algorithm>
#include <utility>

namespace semel::redis_streams {

bool Ledger::arrived(const EntryId& id, std::unique_ptr<Arrival> arrival, bool renewed) {
  // It was asked for before the commit: one more acknowledgement is harmless.
  if (gone_.erase(id) > 0) acked_.insert(id);
  if (acked_.contains(id)) return false;
  const auto [at, fresh] = ours_.try_emplace(id);
  at->second.pending = renewed ? Pending::kRenewed : Pending::kNotRenewed;
  if (fresh) deliveries_.arrived(deliveries_.end(), {id, std::move(arrival)});
  return fresh;
}

Ledger::Taken Ledger::take() {
  const auto taken = deliveries_.take();
  if (taken.value == nullptr) return {};
  ours_.at(taken.value->id).server = servers_;
  return {taken.position, taken.value->id, taken.value->arrival.get()};
}

void Ledger::forget_waiting() {
  for (auto taken = deliveries_.take(); taken.value != nullptr; taken = deliveries_.take()) {
    ours_.erase(taken.value->id);
    (void)deliveries_.settle(taken.position, Settlement::Kind::kGone);
  }
}

bool Ledger::settle(std::uint64_t number, Settlement::Kind kind) {
  if (number < deliveries_.passed() || number >= deliveries_.end()) return false;
  const InHand* const held = deliveries_.open_value(number);
  if (held == nullptr) return false;
  const EntryId id = held->id;
  const auto ours = ours_.find(id);
  if (ours->second.server != servers_) kind = Settlement::Kind::kRelease;
  if (!deliveries_.settle(number, kind)) return false;
  if (kind != Settlement::Kind::kGone && ours->second.pending == Pending::kMissing) {
    lose(ours->second);
  }
  if (kind == Settlement::Kind::kAck) acked_.insert(id);
  if (kind == Settlement::Kind::kGone) gone_.insert(id);
  if (kind == Settlement::Kind::kAck || kind == Settlement::Kind::kGone) ours_.erase(ours);
  return true;
}

void Ledger::another_server() {
  ++servers_;
  acked_.clear();
  gone_.clear();
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
  for (const auto& [id, here] : ours_) {
    if (here.pending == Pending::kRenewed) ids.push_back(id);
  }
  return ids;
}

std::size_t Ledger::ours_behind(const EntryId& id) const {
  return static_cast<std::size_t>(
      std::count_if(ours_.upper_bound(id), ours_.end(),
                    [](const auto& one) { return one.second.pending == Pending::kRenewed; }));
}

void Ledger::only_ours(const EntryId& behind, const EntryId& last,
                       const std::vector<EntryId>& there, TimePoint until) {
  auto next = there.begin();
  for (auto at = ours_.upper_bound(behind); at != ours_.end() && at->first <= last; ++at) {
    next = std::lower_bound(next, there.end(), at->first);
    const bool is_there = next != there.end() && *next == at->first;
    if (at->second.pending != Pending::kRenewed || is_there) continue;
    at->second.pending = Pending::kMissing;
    at->second.until = until;
  }
}

void Ledger::lose_missing(TimePoint now) {
  for (auto& [id, here] : ours_) {
    if (here.pending == Pending::kMissing && now >= here.until) lose(here);
  }
}

void Ledger::lose(Here& here) noexcept {
  here.pending = Pending::kNotRenewed;
  ++lost_;
}

}  // namespace semel::redis_streams
