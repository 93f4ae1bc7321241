#include "testing/broker.h"

#include <algorithm>

namespace semel::testkit {

Broker::Broker(const Schedule& schedule, Clock& clock) : clock_(clock) {
  for (std::size_t batch = 0; batch < schedule.batches.size(); ++batch) {
    for (const std::size_t message : schedule.batches[batch]) {
      entries_.push_back({.message = message, .batch = batch});
    }
  }
}

std::vector<Broker::Copy> Broker::take(Member member) {
  std::vector<Copy> taken;
  const auto first = std::ranges::find_if(entries_, [this](const Entry& e) { return ready(e); });
  if (first == entries_.end()) return taken;
  const std::size_t batch = first->batch;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.batch != batch || !ready(entry)) continue;
    entry.state = State::kOut;
    entry.member = member;
    taken.push_back({i, entry.message});
  }
  return taken;
}

Broker::Entry* Broker::in_hand(Member member, std::size_t copy) {
  Entry& entry = entries_.at(copy);
  return entry.state == State::kOut && entry.member == member ? &entry : nullptr;
}

void Broker::acknowledge(Member member, std::size_t copy) {
  if (Entry* const entry = in_hand(member, copy)) entry->state = State::kAcknowledged;
}

void Broker::later(Member member, std::size_t copy, std::chrono::milliseconds delay) {
  Entry* const entry = in_hand(member, copy);
  if (entry == nullptr) return;
  entry->state = State::kReady;
  entry->due = clock_.now() + delay;
}

void Broker::lose(Member member) {
  for (Entry& entry : entries_) {
    if (entry.state == State::kOut && entry.member == member) entry.state = State::kReady;
  }
}

std::optional<std::chrono::nanoseconds> Broker::next_in() const {
  std::optional<std::chrono::nanoseconds> next;
  for (const Entry& entry : entries_) {
    if (entry.state != State::kReady) continue;
    const auto in = std::max(entry.due - clock_.now(), std::chrono::nanoseconds(0));
    if (!next || in < *next) next = in;
  }
  return next;
}

}  // namespace semel::testkit
