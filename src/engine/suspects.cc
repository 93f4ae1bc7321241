// Handles messages that were in flight when a process died: in groups, each counted durably before
// it is tried. core/suspect_group.h decides how large the groups are.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <semel/spi/run_markers.h>

#include "core/suspect_group.h"
#include "engine/running_engine.h"
#include "system/mutex.h"

namespace semel::engine {
namespace {

CrashChange change_of(const KeyId& key, core::CrashStep step) {
  return {key, step.from, core::highest_from(step), step.to};
}

// A completed message cannot crash the process: it fits in any group, and has no stored count.
std::vector<int> numbers_of(std::span<const std::optional<int>> kept) {
  std::vector<int> numbers;
  numbers.reserve(kept.size());
  for (const std::optional<int>& one : kept) numbers.push_back(one.value_or(0));
  return numbers;
}

}  // namespace

// The next deliveries of a batch, which are handled together, and their crash counts as stored at
// the start.
struct RunningEngine::SuspectGroup {
  std::span<core::TrackedDelivery> deliveries;
  std::span<const KeyId> keys;
  std::span<const std::optional<int>> kept;
  std::size_t behind = 0;  // deliveries of the batch that come after them
  bool given_up = false;

  std::vector<CrashChange> counting() const {
    std::vector<CrashChange> changes;
    if (given_up) return changes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!kept[i]) continue;
      changes.push_back(
          change_of(keys[i], {*kept[i], core::crashes_in_hand(*kept[i], keys.size())}));
    }
    return changes;
  }
  // Resets the crash counts to zero, and those of untried deliveries to the values stored before.
  std::vector<CrashChange> ending(Running& running) const {
    const system::MutexLock lock(running.untried_mutex);
    std::vector<CrashChange> changes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!kept[i]) continue;
      const int counted = given_up ? *kept[i] : core::crashes_in_hand(*kept[i], keys.size());
      const int left = running.untried.contains(keys[i]) ? *kept[i] : 0;
      if (counted != left) changes.push_back(change_of(keys[i], {counted, left}));
    }
    return changes;
  }
};

void RunningEngine::process_suspects(Running& running) {
  RunMarkers* runs = parts_.store->facets().runs;
  if (runs == nullptr) {
    strategy_->process(running.batch, running.sink);
    return;
  }
  running.sink.waits(true);
  const system::MutexLock gate(*parts_.suspect_gate);
  running.sink.waits(false);
  const std::span<core::TrackedDelivery> all(running.batch);
  // Copied before processing: a delivery that ends may be moved away with its message.
  std::vector<KeyId> keys;
  for (const core::TrackedDelivery& delivery : all) keys.push_back(delivery.message.key().id);
  std::optional<std::vector<std::optional<int>>> kept;
  std::size_t done = 0;
  while (done < all.size()) {
    if (!kept) {
      auto looked = ask_store([&] { return runs->crashes(keys); }, IfRejected::kAskAgain);
      if (!looked) break;
      kept = *std::move(looked);
    }
    const auto left = std::span(std::as_const(*kept)).subspan(done);
    const std::vector<int> numbers = numbers_of(left);
    const std::size_t size = core::first_group(numbers);
    const SuspectGroup group{all.subspan(done, size), std::span(keys).subspan(done, size),
                             left.first(size), all.size() - done - size,
                             core::to_give_up(numbers.front(), options_.crashes)};
    const Counted counted = count_group(*runs, group, running.trial != 0);
    if (counted == Counted::kNoAnswer) break;
    if (counted == Counted::kOtherwise) {
      kept.reset();
      continue;
    }
    process_group(running, group);
    take_back(*runs, group.ending(running));
    done += size;
  }
  give_back_untried(running, all.subspan(done));
}

// kNoAnswer: the drain began, or the gate was shut, before the group was counted. Uncounted
// messages must not run. kOtherwise: another process has counted one of them meanwhile.
RunningEngine::Counted RunningEngine::count_group(RunMarkers& runs, const SuspectGroup& group,
                                                  bool is_trial) {
  // The gate admits nothing while its trial runs, and must not stop the trial itself.
  const bool shut = is_trial ? gate_.paused() : in_flight_.gate_is_shut();
  if (stopping() || has_ended() || shut) return Counted::kNoAnswer;
  const std::vector<CrashChange> changes = group.counting();
  if (changes.empty()) return Counted::kYes;
  const auto counted =
      ask_store([&] { return runs.change_crashes(changes); }, IfRejected::kAskAgain);
  const bool all = counted && std::ranges::equal(*counted, changes, {}, {}, &CrashChange::to);
  if (all) return Counted::kYes;
  // Undo the counts that were written; the others now belong to another process.
  std::vector<CrashChange> back;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const CrashChange& change = changes[i];
    if (counted && (*counted)[i] != change.to) continue;
    back.push_back(change_of(change.key, {change.to, change.from}));
  }
  take_back(runs, back);
  return counted ? Counted::kOtherwise : Counted::kNoAnswer;
}

void RunningEngine::process_group(Running& running, const SuspectGroup& group) {
  for (std::size_t i = 0; i < group.deliveries.size(); ++i) {
    if (!group.kept[i]) intake_.suspect_one_more(group.deliveries[i].arrival.partition);
  }
  const bool whole = group.deliveries.size() == running.batch.size();
  const TimePoint began = now();
  running.progress.store(began, std::memory_order_relaxed);
  (group.given_up ? *give_up_strategy_ : *strategy_).process(group.deliveries, running.sink);
  {
    const system::MutexLock lock(running_mutex_);
    suspect_ended_.wait(running_mutex_, [&]() SEMEL_REQUIRES(running_mutex_) {
      return running.open <= group.behind + 1;
    });
  }
  if (whole) running.took = now() - began;
}

// Retries until the store answers, but only once during a drain. A count that is left behind
// matters only if its message becomes a suspect again.
void RunningEngine::take_back(RunMarkers& runs, const std::vector<CrashChange>& changes) {
  if (changes.empty() || runs.change_crashes(changes)) return;
  (void)ask_store([&] { return runs.change_crashes(changes); }, IfRejected::kAskAgain);
}

void RunningEngine::give_back_untried(Running& running, std::span<core::TrackedDelivery> untried) {
  const bool ends = stopping() || has_ended();
  if (ends && !untried.empty()) suspects_left_ = true;
  for (core::TrackedDelivery& delivery : untried) {
    Outcome outcome;
    outcome.kind = Outcome::Kind::kRetry;
    outcome.settle = ends ? Outcome::Settle::kRelease : Outcome::Settle::kKeep;
    running.sink.ended(delivery, std::move(outcome));
  }
}

}  // namespace semel::engine
