// The part of BatchRun for followers: messages behind others of their ordering key in one batch.
//
// First the whole batch is tried in one transaction. It commits only if no message takes effect
// behind a message of its key that does not. Otherwise the transaction is undone and the batch runs
// in rounds: the first message of each key, then the second. A message that comes again leaves
// those behind it untried, and they come again after it.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/comes_again.h"
#include "strategies/batch_run.h"

namespace semel::strategies {

namespace {

// True if the store keeps nothing of the message except that it is over or has not begun.
bool is_plain(const Finish& finish) {
  return finish.to == Finish::To::kCompleted || finish.to == Finish::To::kAckOnly ||
         finish.to == Finish::To::kNotStarted;
}

core::LaneName lane_of(const Slot& slot) { return core::LaneName::of(slot.delivery->message); }

}  // namespace

bool BatchRun::ends_in_order() const {
  if (!std::ranges::all_of(finishes_, is_plain)) return false;
  std::unordered_set<core::LaneName, core::HashOfLaneName> given_back;
  for (const Slot& slot : window_) {
    if (slot.returned) {
      given_back.insert(lane_of(slot));
      continue;
    }
    const bool over = slot.planned == Finish::To::kCompleted || !core::comes_again(slot.outcome);
    if (!over || given_back.contains(lane_of(slot))) return false;
  }
  return true;
}

// Sorting gave each key some positions; the key's messages fill them in their own order.
void BatchRun::keep_in_order(std::vector<std::size_t>& places) const {
  if (!followers_) return;
  std::unordered_map<core::LaneName, std::vector<std::size_t>, core::HashOfLaneName> lines;
  for (std::size_t i = 0; i < places.size(); ++i) {
    lines[lane_of(window_[places[i]])].push_back(i);
  }
  for (const auto& [key, at] : lines) {
    std::vector<std::size_t> of_line;
    for (const std::size_t i : at) of_line.push_back(places[i]);
    std::ranges::sort(of_line);
    for (std::size_t i = 0; i < at.size(); ++i) places[at[i]] = of_line[i];
  }
}

void BatchRun::go_in_rounds() {
  forget_hopeless();
  followers_ = false;
  std::unordered_map<core::LaneName, std::size_t, core::HashOfLaneName> seen;
  for (Slot& slot : std::exchange(slots_, {})) {
    const std::size_t round = seen[lane_of(slot)]++;
    if (later_.size() < round) later_.emplace_back();
    (round == 0 ? slots_ : later_[round - 1]).push_back(std::move(slot));
  }
  size_ = std::min(size_, slots_.size());
}

// False after the last round.
bool BatchRun::begin_next_round() {
  while (first_ == slots_.size()) {
    if (later_.empty()) return false;
    slots_ = std::move(later_.front());
    later_.pop_front();
    first_ = 0;
    size_ = undone_ < kSinglyAfter ? slots_.size() : 1;
  }
  return true;
}

// Messages behind one that comes again end before it: the engine then puts the whole ordering group
// aside.
void BatchRun::end(const Slot& slot, Outcome outcome) {
  if (!later_.empty() && core::comes_again(outcome)) leave_behind(lane_of(slot));
  sink_.ended(*slot.delivery, std::move(outcome));
}

void BatchRun::leave_behind(const core::LaneName& name) {
  for (std::vector<Slot>& round : later_) {
    std::erase_if(round, [&](const Slot& slot) {
      if (lane_of(slot) != name) return false;
      leave(slot);
      return true;
    });
  }
}

void BatchRun::leave_given_back() {
  for (Slot& slot : window_) {
    slot.left = slot.returned && slot.delivery->follows;
    if (slot.left) leave(slot);
  }
}

void BatchRun::leave(const Slot& slot) { sink_.ended(*slot.delivery, kept_by_engine()); }

}  // namespace semel::strategies
