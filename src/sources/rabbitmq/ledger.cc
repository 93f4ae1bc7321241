#include "sources/rabbitmq/ledger.h"

#include <algorithm>
#include <utility>

namespace semel::rabbitmq {

void Ledger::arrived(std::uint64_t tag, std::unique_ptr<Arrival> arrival) {
  entries_.push_back({tag, State::kOpen, std::move(arrival)});
  ++open_;
}

Ledger::Entry* Ledger::find(std::uint64_t tag) {
  if (entries_.empty() || tag < entries_.front().tag) return nullptr;
  // A channel counts without gaps, and this is the place.
  const std::uint64_t place = tag - entries_.front().tag;
  if (place < entries_.size() && entries_[place].tag == tag) return &entries_[place];
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), tag,
                       [](const Entry& entry, std::uint64_t one) { return entry.tag < one; });
  return found == entries_.end() || found->tag != tag ? nullptr : &*found;
}

Ledger::Taken Ledger::take() {
  if (!given_back_.empty()) {
    // It stands before all that is new.
    const auto first = given_back_.begin();
    const Entry* const entry = find(*first);
    given_back_.erase(first);
    return {entry->tag, entry->arrival.get()};
  }
  if (fresh_ == entries_.size()) return {};
  const Entry& entry = entries_[fresh_++];
  return {entry.tag, entry.arrival.get()};
}

bool Ledger::settle(std::uint64_t tag, Settlement::Kind kind) {
  Entry* const entry = find(tag);
  if (entry == nullptr || entry->state != State::kOpen) return false;
  const bool never_taken = fresh_ < entries_.size() && tag >= entries_[fresh_].tag;
  if (never_taken || (!given_back_.empty() && given_back_.contains(tag))) return false;
  if (kind != Settlement::Kind::kAck && kind != Settlement::Kind::kGone) {
    given_back_.insert(tag);
    return true;
  }
  entry->state = State::kAcked;
  entry->arrival.reset();
  acked_.push_back(tag);
  --open_;
  return true;
}

// One frame for all up to the first that is not settled, and one for each behind it: a slow message
// keeps nobody's acknowledgement back, and so neither prefetch nor the broker's patience is used up
// by what is long done.
std::vector<Ledger::Ack> Ledger::take_acks() {
  std::vector<Ack> acks;
  Ack prefix;
  std::size_t told = 0;
  while (!entries_.empty() && entries_.front().state != State::kOpen) {
    if (entries_.front().state == State::kAcked) {
      prefix = {entries_.front().tag, told > 0};
      ++told;
    }
    entries_.pop_front();
    --fresh_;
  }
  if (told > 0) acks.push_back(prefix);
  std::sort(acked_.begin(), acked_.end());
  for (const std::uint64_t tag : acked_) {
    Entry* const behind = find(tag);
    if (behind == nullptr) continue;
    behind->state = State::kTold;
    acks.push_back({tag, false});
  }
  acked_.clear();
  return acks;
}

}  // namespace semel::rabbitmq
