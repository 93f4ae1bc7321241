// The part of BatchRun for conflicts: how many transactions of the consumer run concurrently.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/outdated_statement.h"
#include "strategies/batch_run.h"

namespace semel::strategies {

using std::chrono::milliseconds;

namespace {

// While some program is known to keep rows locked, a single message waits no longer than this. This
// is still longer than a deadlock lasts.
constexpr milliseconds kSinglePatience{1'000};

}  // namespace

// A store with one writer separates transactions by itself. A borrowed connection is inside its
// owner's transaction, whose end is not known here.
bool BatchRun::in_turn() const {
  return !stranger_ && !options_.always_rerun && !context_.store->traits().single_writer;
}

BatchRun::Progress BatchRun::transact_in_turn() {
  was_alone_ = false;
  if (!in_turn()) {
    const Progress progress = transact();
    if (progress == Progress::kWell) forget_meetings();
    return progress;
  }
  Clock& clock = *context_.environment->clock;
  const auto asked = clock.now();
  sink_.waits(true);
  TransactionLimit::Place place = stats_.limit.enter();
  sink_.waits(false);
  const auto began = clock.now();
  waited_ += began - asked;
  was_alone_ = place.alone();
  place_ = &place;
  const bool again = conflicted_;
  const Progress progress = transact();
  place_ = nullptr;
  const auto took = clock.now() - began;
  if (progress == Progress::kFailed) waited_ += took;
  if (progress != Progress::kWell) return progress;
  if (!waited_in_vain_) place.went_well(took);
  if (again && held_back_) {
    stats_.limit.met_stranger();
  } else if (again) {
    place.confirms_deadlock();
  }
  forget_meetings();
  return progress;
}

// Called when a window has ended: the next window has had no conflict yet.
void BatchRun::forget_meetings() { held_back_ = waited_in_vain_ = false; }

void BatchRun::choose_company(UnitOptions& options) {
  names_blocked_ = false;
  patient_ = true;
  if (place_ != nullptr) {
    options.group = stats_.group;
    options.alone = place_->alone();
  } else if (!stranger_) {
    return;
  }
  const bool single = window_.size() == 1;
  // If the message cannot be held, a person may be waiting for the caller.
  const bool near = context_.hold && stats_.blocked.any_of_late(context_.environment->clock->now());
  // A window of one message waits as usual, because the server finds its deadlock. A second part
  // waits as long as it may and is not given back, because its call was made.
  patient_ = place_ == nullptr ? options_.second_part : single && !options.alone;
  names_blocked_ = !options_.second_part && (single || stranger_ || options.alone || near);
  options.names_blocked = names_blocked_;
  if (!patient_) {
    options.row_patience = stats_.limit.row_patience();
  } else if (names_blocked_ && near) {
    options.row_patience = kSinglePatience;
  }
}

// True if another program holds the row. Otherwise the message may have waited for one of the
// consumer's own transactions, which in turn waits for others.
bool BatchRun::is_strangers(const Slot& slot) const {
  return stranger_ || patient_ || !slot.looks.empty() || (place_ != nullptr && place_->alone());
}

Error BatchRun::row_is_locked() {
  return {ErrorKind::kBlocked, {}, "another transaction has had a row of it locked for long", {}};
}

// Another program has locked a row that the message needs: this transaction continues without it.
void BatchRun::meet_stranger(Slot& slot, const Error& error, const RecordedStatement& blocked,
                             const StatementList& statements) {
  in_vain_ = waited_in_vain_ = true;
  if (conflicted_ && place_ != nullptr && place_->alone()) {
    stats_.limit.met_stranger();
    conflicted_ = false;
  }
  const auto now = context_.environment->clock->now();
  hold_back(slot, error, stats_.blocked.add(blocked, statements, now));
}

// Gives the message back in the batch's transaction, uncounted; the others continue without it.
void BatchRun::hold_back(Slot& slot, const Error& error, milliseconds wait) {
  held_back_ = true;
  slot.blocked = error;
  slot.wait = wait;
  slot.failed = true;
  slot.withheld = true;
  slot.looks.clear();
  slot.list.clear();
  release(slot);
}

// True if the whole window is held back: then there is nothing to commit.
bool BatchRun::ends_untried() {
  const bool all =
      std::ranges::all_of(window_, [](const Slot& slot) { return slot.blocked && !slot.doubt; });
  if (!all || !policy_.leases().empty()) return false;
  for (Slot& slot : window_) release(slot);
  end_window();
  return true;
}

// Undoes the effects of the message's queries in this transaction.
BatchRun::Progress BatchRun::hold_reader(UnitOfWork& unit, std::size_t at, milliseconds wait) {
  hold_back(window_[at], row_is_locked(), wait);
  auto undone = unit.undo(at);
  return undone ? Progress::kWell : fail(std::move(undone.error()));
}

Outcome BatchRun::blocked_by(const Error& error, milliseconds wait) {
  Outcome outcome = store_away(error, wait);
  outcome.kind = Outcome::Kind::kBusy;
  outcome.reason.clear();
  return outcome;
}

BlockedRows::Answer BatchRun::ask_for_blocked(Slot& slot, const StatementList& statements,
                                              const RecordedStatement* question) {
  const auto now = context_.environment->clock->now();
  return stats_.blocked.ask(statements, question, slot.looks, now);
}

// Holds back messages whose rows are known to be blocked. A message that checks its rows again does
// so before all others, so that none waits for rows that it has locked. Where row versions have an
// order, the first message of the row checks.
void BatchRun::look_out() {
  if (!names_blocked_) return;
  std::vector<std::size_t> first;
  std::vector<std::size_t> rest;
  for (const std::size_t at : waiting_) {
    Slot& slot = window_[at];
    const BlockedRows::Answer answer = ask_for_blocked(slot, slot.list, nullptr);
    if (answer.known == BlockedRows::Known::kBlocked) {
      hold_back(slot, row_is_locked(), answer.wait);
      continue;
    }
    const auto& version = slot.list.front().version;
    const bool may_lead = !version || slot.looks.contains(version->row);
    (may_lead && !slot.looks.empty() ? first : rest).push_back(at);
  }
  waiting_ = std::move(first);
  waiting_.insert(waiting_.end(), rest.begin(), rest.end());
}

// A message that is done, now or earlier, has found its rows free.
void BatchRun::note_free_rows() {
  for (const Slot& slot : window_) {
    const bool ran =
        slot.outcome.kind == Outcome::Kind::kDone || slot.outcome.kind == Outcome::Kind::kDuplicate;
    if (ran) stats_.blocked.forget(slot.looks);
  }
}

// Called after a conflict with another transaction. True: the same window is tried again, alone.
bool BatchRun::goes_alone() {
  const bool blocked = error_.kind == ErrorKind::kBlocked;
  if (!in_turn() || at_begin_ || (!blocked && error_.kind != ErrorKind::kRetryTransaction)) {
    return false;
  }
  if (error_.code == core::kOutdatedStatement) return false;
  const bool entered = !claims_.empty();
  if (was_alone_ && blocked && !entered) {
    stats_.limit.cannot_be_alone();
    return true;
  }
  if (was_alone_ && blocked) {
    stats_.limit.met_stranger();
    stranger_ = true;
    return false;
  }
  // Before its statements the transaction had locked nothing that others need. A patient
  // transaction has waited longer than a deadlock lasts.
  if (!sent_ || (blocked && patient_)) return false;
  using Conflict = TransactionLimit::Conflict;
  stats_.limit.met(blocked ? Conflict::kLongWait : Conflict::kDeadlock);
  return !std::exchange(conflicted_, true);
}

// Must be called before the window's messages end: the sink may be gone with the last of them.
void BatchRun::leave_window() {
  conflicted_ = false;
  const bool disturbed = waited_in_vain_ || (place_ != nullptr && place_->disturbed());
  if (disturbed) {
    sink_.waited(std::nullopt);
  } else if (waited_.count() > 0) {
    sink_.waited(waited_);
  }
  waited_ = std::chrono::nanoseconds{0};
}

}  // namespace semel::strategies
