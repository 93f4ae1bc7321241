#include "operate/letter_job.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "system/utc_clock.h"

namespace semel::operate {

namespace {

constexpr std::size_t kCountedAtOnce = 5'000;
// A part of the work takes about this long, so that a pause or a stop takes effect soon.
constexpr std::chrono::milliseconds kWalkOfPart{500};
// This many refusals in a row are not caused by single letters.
constexpr std::size_t kMostRefusals = 100;

// Otherwise letters would become old enough for a filter, or too old, while the job runs.
LetterWork with_fixed_time(LetterWork work) {
  if (!work.query.now) work.query.now = system::utc_now();
  return work;
}

}  // namespace

LetterJob::LetterJob(LetterWork work)
    : work_(with_fixed_time(std::move(work))), throttle_(work_.rate), after_(work_.query.after) {}

bool LetterJob::passes(const Error& error) noexcept {
  return error.kind != ErrorKind::kRejected && error.kind != ErrorKind::kLimit;
}

Result<bool> LetterJob::step(const StoreAccess& access) {
  return progress_.total ? act(access) : count(access);
}

Result<bool> LetterJob::count(const StoreAccess& access) {
  LetterQuery query = work_.query;
  query.settled = work_.act == LetterAct::kReplay;
  query.after = after_;
  query.limit = std::min(kCountedAtOnce, work_.query.limit - counted_);
  query.until = std::chrono::steady_clock::now() + kWalkOfPart;
  std::int64_t last = last_;
  const auto walk = walk_letters(access, query, [&](const DeadLetter& one) { last = one.id; });
  if (!walk) return failure(walk.error());
  last_ = last;
  counted_ += walk->seen;
  progress_.on_their_way += walk->on_their_way;
  if (walk->next && counted_ < work_.query.limit) {
    after_ = *walk->next;
    return true;
  }
  progress_.total = counted_;
  after_ = work_.query.after;
  return counted_ > 0;
}

Result<bool> LetterJob::act(const StoreAccess& access) {
  LetterQuery query = work_.query;
  query.settled = work_.act == LetterAct::kReplay;
  query.after = after_;
  query.up_to = last_;
  query.limit = std::min(throttle_.most(), work_.query.limit - progress_.taken());
  query.until = std::chrono::steady_clock::now() + kWalkOfPart;
  std::vector<Met> part;
  const auto walk = walk_letters(access, query, [&](const DeadLetter& one) {
    part.push_back({one.id, one.replayed, one.consumer});
  });
  if (!walk) return failure(walk.error());
  settle_doubt(part, walk->next);
  if (!part.empty()) {
    const auto begun = std::chrono::steady_clock::now();
    const std::size_t before = progress_.taken();
    const auto taken = take(access, part);
    throttle_.took(progress_.taken() - before, begun);
    if (!taken) {
      std::erase_if(part, [&](const Met& one) { return one.id <= after_; });
      if (taken.error().kind == ErrorKind::kInDoubt) {
        doubtful_.insert(doubtful_.end(), part.begin(), part.end());
      }
      return failure(taken.error());
    }
  }
  if (walk->next) after_ = *walk->next;
  const bool more = walk->next && after_ < last_ && progress_.taken() < work_.query.limit;
  return more || finish();
}

// Decides for the letters in doubt whether the earlier try took effect, and removes those from the
// part. A letter without a key has no record that hides it from the walk.
void LetterJob::settle_doubt(std::vector<Met>& part, std::optional<std::int64_t> next) {
  std::erase_if(doubtful_, [&](const Met& before) {
    if (next && before.id > *next) return false;
    const auto now = std::ranges::find(part, before.id, &Met::id);
    const bool met = now != part.end();
    const bool done = !met || now->replayed > before.replayed;
    if (done) ++progress_.done;
    if (done) tell(before.consumer, ReplayReport::Result::kReplayed);
    if (done && met) part.erase(now);
    return true;
  });
}

// Counts as gone the planned letters that were not found when their turn came.
bool LetterJob::finish() {
  if (progress_.taken() < *progress_.total) progress_.gone += *progress_.total - progress_.taken();
  progress_.total = progress_.taken();
  return false;
}

// A letter that the store refuses costs its neighbours nothing.
Result<void> LetterJob::take(const StoreAccess& access, std::span<const Met> part) {
  auto taken = take_together(access, part);
  if (taken || passes(taken.error())) {
    if (taken) after_ = part.back().id;
    if (taken) failed_in_a_row_ = 0;
    return taken;
  }
  for (const Met& one : part) {
    taken = take_together(access, {&one, 1});
    if (!taken && passes(taken.error())) return taken;
    after_ = one.id;
    if (taken) {
      failed_in_a_row_ = 0;
      continue;
    }
    ++progress_.failed;
    progress_.last_error = taken.error().message;
    if (++failed_in_a_row_ == kMostRefusals) return taken;
  }
  return {};
}

Result<void> LetterJob::take_together(const StoreAccess& access, std::span<const Met> part) {
  DeadLetters& letters = *access.facets.dead_letters;
  std::vector<std::int64_t> ids;
  for (const Met& one : part) ids.push_back(one.id);
  if (work_.act == LetterAct::kDiscard) {
    const auto discarded = letters.discard(ids);
    if (!discarded) return failure(discarded.error());
    progress_.done += *discarded;
    progress_.gone += ids.size() - *discarded;
    return {};
  }
  const auto report = letters.replay(ids);
  if (!report) return failure(report.error());
  progress_.done += report->replayed;
  progress_.skipped_completed += report->skipped_completed;
  progress_.skipped_conflict += report->skipped_conflict;
  progress_.gone += report->missing;
  for (const auto& [id, result] : report->letters) {
    tell(std::ranges::lower_bound(part, id, {}, &Met::id)->consumer, result);
  }
  return {};
}

void LetterJob::tell(const std::string& consumer, ReplayReport::Result result) const {
  if (work_.act == LetterAct::kReplay && work_.replayed) work_.replayed(consumer, result);
}

std::string progress_text(LetterAct act, const LetterProgress& progress) {
  std::string text =
      fmt::format("{} {}", progress.done, act == LetterAct::kReplay ? "replayed" : "discarded");
  const std::size_t skipped = progress.skipped_completed + progress.skipped_conflict;
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  if (progress.gone > 0) text += fmt::format(", {} gone", progress.gone);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  return text;
}

}  // namespace semel::operate
