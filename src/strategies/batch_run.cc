#include "strategies/batch_run.h"

#include <algorithm>
#include <variant>

#include "strategies/age_gate.h"
#include "strategies/decision.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

// After this many transactions of one batch were undone by a message's error, each message gets a
// savepoint.
constexpr int kMarkEachAfter = 2;
// The number of batches that are careful after one batch broke as a whole.
constexpr int kCareful = 16;
constexpr milliseconds kFirstTransactionWait{1};
constexpr milliseconds kLongestTransactionWait{100};

}  // namespace

BatchRun::BatchRun(const Context& context, const PipelineOptions& options, PipelineStats& stats,
                   ClaimPolicy& policy, std::span<core::TrackedDelivery* const> batch,
                   OutcomeSink& sink)
    : context_(context),
      options_(options),
      stats_(stats),
      policy_(policy),
      sink_(sink),
      resolver_(context, options.inbox),
      slots_(batch.size()),
      size_(batch.size()),
      at_once_(stats.careful.load(std::memory_order_relaxed) <= 0),
      backoff_(*context.environment->random, kFirstTransactionWait, kLongestTransactionWait) {
  if (!at_once_) stats.careful.fetch_sub(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    slots_[i].delivery = batch[i];
    followers_ = followers_ || batch[i]->follows;
  }
  finishes_.reserve(batch.size());
  claims_.reserve(batch.size());
  messages_.reserve(batch.size());
}

PipelineResult BatchRun::run() {
  if (context_.services.monitor != nullptr) {
    watch_ = context_.services.monitor->watch(
        policy_.leases(), options_.second_part ? HandlerMonitor::Handlers::kSecondPart
                                               : HandlerMonitor::Handlers::kInTransaction);
  }
  while (begin_next_round()) {
    const Progress progress = transact_in_turn();
    if (progress != Progress::kWell && followers_) {
      if (progress == Progress::kFailed && goes_alone()) continue;
      go_in_rounds();
      // Waiting as long once more would be useless.
      if (progress == Progress::kFailed && at_begin_ && error_.kind == ErrorKind::kBlocked) {
        give_back_rest();
      }
      continue;
    }
    switch (progress) {
      case Progress::kWell:
        break;
      case Progress::kUndone:
        after_undone();
        break;
      case Progress::kFailed:
        after_error();
        break;
    }
  }
  return std::move(ran_);
}

BatchRun::Progress BatchRun::fail(Error error, bool at_begin) {
  error_ = std::move(error);
  at_begin_ = at_begin;
  return Progress::kFailed;
}

BatchRun::Progress BatchRun::transact() {
  window_ = std::span(slots_).subspan(first_, std::min(size_, slots_.size() - first_));
  if (ends_untried()) return Progress::kWell;
  // Before a connection is taken for the transaction.
  auto gate_time = time_at_gate();
  if (!gate_time) return fail(std::move(gate_time.error()), true);
  gate_time_ = *gate_time;
  sent_ = in_vain_ = false;
  reached_ = Reached::kNothing;
  parts_.clear();
  waiting_.clear();
  UnitOptions options;
  options.check_deferred = window_.size() == 1 && window_.front().checked;
  options.savepoints = marks_;
  options.inbox = options_.inbox;
  options.want_result = context_.claim.want_result;
  choose_company(options);
  auto begun = context_.store->facets().transactional->begin(options);
  if (!begun) return fail(std::move(begun.error()), true);
  std::unique_ptr<UnitOfWork> unit = *std::move(begun);
  Progress progress = enter(*unit);
  if (progress == Progress::kWell) {
    reached_ = Reached::kEntered;
    progress = run_handlers(*unit);
  }
  if (progress != Progress::kWell) return progress;
  send_waiting(*unit);
  plan();
  if (followers_ && !ends_in_order()) return Progress::kUndone;
  return ends_all_well() ? finish_at_once(std::move(unit)) : finish_in_steps(std::move(unit));
}

BatchRun::Progress BatchRun::enter(UnitOfWork& unit) {
  messages_.clear();
  claims_.clear();
  for (const Slot& slot : window_) messages_.push_back(&slot.delivery->message);
  if (auto entered = policy_.enter(unit, first_, messages_, claims_); !entered) {
    return fail(std::move(entered.error()));
  }
  const bool committed_before = !policy_.leases().empty();
  for (std::size_t i = 0; i < window_.size(); ++i) {
    Slot& slot = window_[i];
    // A message refused before the transaction was undone may have a record by now.
    slot.begin_again(slot.reads || (slot.decision && slot.decision->untried));
    const auto* acquired = std::get_if<Acquired>(&claims_[i]);
    if (acquired == nullptr) {
      slot.lost = committed_before;
      continue;
    }
    slot.claim_info = ClaimInfo::of(*acquired);
    if (!policy_.has_records()) slot.claim_info.lease.reset();
    // The doubtful commit was to record a retry. The retry was recorded, and is due by now.
    if (slot.doubt && slot.doubt->to == Finish::To::kRetrying &&
        acquired->attempt > slot.doubt->outcome.attempt) {
      slot.returned = true;
      slot.outcome = slot.doubt->outcome;
      continue;
    }
    slot.acquired = true;
    slot.doubt.reset();
    if (slot.withheld) {
      release(slot);
    } else if (gate_time_ && !slot.decision) {
      slot.decision = context_.age_gate->refuse(slot.delivery->arrival, *acquired, *gate_time_);
    }
  }
  return Progress::kWell;
}

// Where its claims are made in its own transactions: others were judged when they were made.
Result<std::optional<StoreTime>> BatchRun::time_at_gate() const {
  const bool claims_here = policy_.has_records() && policy_.leases().empty();
  if (!context_.age_gate || !claims_here || !context_.age_gate->judges()) {
    return std::optional<StoreTime>();
  }
  std::optional<AgeGate::TimePoint> oldest;
  for (const Slot& slot : window_) AgeGate::find_oldest(slot.delivery->arrival, oldest);
  return context_.age_gate->time_for(oldest);
}

// Handles the result of a flush.
BatchRun::Progress BatchRun::take_in(Result<FlushReport> report) {
  if (!report) {
    if (report.error().kind == ErrorKind::kInDoubt) note_doubt();
    return fail(std::move(report.error()));
  }
  const bool told = note(*report);
  if (contended_) return fail(*std::exchange(contended_, std::nullopt));
  if (!report->all_undone) {
    if (report->failed.empty() && report->missed.empty()) return Progress::kWell;
    if (undoes_beside()) return Progress::kUndone;
    plan();
    return Progress::kWell;
  }
  if (told) return Progress::kUndone;
  return fail({ErrorKind::kRetryTransaction, {}, "the store undid the whole transaction", {}});
}

// True if all messages are expected to succeed.
bool BatchRun::ends_all_well() const {
  return at_once_ && sent_ && marks_ == Savepoints::kSparse &&
         std::ranges::all_of(
             finishes_, [](const Finish& f) { return f.lease && f.to == Finish::To::kCompleted; });
}

BatchRun::Progress BatchRun::finish_at_once(std::unique_ptr<UnitOfWork> unit) {
  auto report = unit->flush_and_commit(finishes_);
  if (report && report->committed) {
    unit.reset();
    end_window();
    return Progress::kWell;
  }
  // Going step by step shows which message is at fault.
  at_once_ = false;
  if (report && report->all_undone && report->failed.empty()) {
    stats_.careful.store(kCareful, std::memory_order_relaxed);
    return Progress::kUndone;
  }
  const Progress progress = take_in(std::move(report));
  return progress == Progress::kWell ? commit_in_order(std::move(unit)) : progress;
}

BatchRun::Progress BatchRun::finish_in_steps(std::unique_ptr<UnitOfWork> unit) {
  const Progress progress = sent_ ? take_in(unit->flush()) : Progress::kWell;
  return progress == Progress::kWell ? commit_in_order(std::move(unit)) : progress;
}

// The flush may have changed how some messages end.
BatchRun::Progress BatchRun::commit_in_order(std::unique_ptr<UnitOfWork> unit) {
  if (followers_ && !ends_in_order()) return Progress::kUndone;
  return commit(std::move(unit));
}

bool BatchRun::doubt_came_true(const Slot& slot, const Claim& claim) const {
  return slot.doubt && came_true(slot.doubt->to, context_.hold, claim);
}

Resolution BatchRun::ending_of(const Slot& slot, const Claim& claim) const {
  if (slot.acquired) {
    return resolver_.of_decision(slot.claim_info, slot.missed ? *slot.missed : *slot.decision,
                                 slot.recorded());
  }
  if (slot.returned) {
    Resolution resolution{slot.outcome, std::nullopt};
    if (slot.claim_info.lease) resolution.finish = not_started(*slot.claim_info.lease);
    return resolution;
  }
  if (slot.lost) return {lease_lost(slot.claim_info.attempt), std::nullopt};
  Resolution resolution = resolver_.of_claim(claim, slot.recorded(), slot.why_unkept);
  if (!doubt_came_true(slot, claim)) return resolution;
  resolution.outcome = slot.doubt->outcome;
  // The retry is now kept in the message's row.
  if (slot.doubt->to == Finish::To::kRetrying) resolution.finish.reset();
  return resolution;
}

bool BatchRun::nothing_to_commit() const {
  if (finishes_.empty()) return !sent_;
  // Claims made in this transaction are undone with it.
  if (!policy_.leases().empty()) return false;
  return std::all_of(finishes_.begin(), finishes_.end(),
                     [](const Finish& f) { return f.to == Finish::To::kNotStarted; });
}

// Plans how each message is to end, as far as is known.
void BatchRun::plan() {
  finishes_.clear();
  withhold_if_hopeless();
  for (std::size_t i = 0; i < window_.size(); ++i) {
    Slot& slot = window_[i];
    slot.planned = Finish::To::kAckOnly;
    if (slot.acquired && !slot.missed && slot.decision->has_effect() && slot.claim_info.lease) {
      slot.planned = Finish::To::kCompleted;
      resolver_.complete(slot.claim_info, *slot.decision, *slot.delivery, slot.outcome,
                         finishes_.emplace_back());
      continue;
    }
    Resolution resolution = ending_of(slot, claims_[i]);
    slot.outcome = std::move(resolution.outcome);
    if (!resolution.finish) continue;
    slot.planned = resolution.finish->to;
    finishes_.push_back(*std::move(resolution.finish));
  }
}

BatchRun::Progress BatchRun::commit(std::unique_ptr<UnitOfWork> unit) {
  reached_ = Reached::kFlushed;
  if (!nothing_to_commit()) {
    if (!finishes_.empty()) {
      auto applied = unit->finish(finishes_);
      if (!applied) return fail(std::move(applied.error()));
      // Effects without their record must not be committed.
      if (std::find(applied->begin(), applied->end(), Applied::kLeaseLost) != applied->end()) {
        return fail(
            {ErrorKind::kRetryTransaction, {}, "another holder took over a record meanwhile", {}});
      }
    }
    reached_ = Reached::kFinished;
    auto committed = unit->commit();
    if (!committed) {
      if (committed.error().kind == ErrorKind::kInDoubt) note_doubt();
      return fail(std::move(committed.error()));
    }
  }
  unit.reset();
  end_window();
  return Progress::kWell;
}

void BatchRun::note_doubt() {
  for (Slot& slot : window_) {
    if (slot.acquired && slot.claim_info.lease)
      slot.doubt = Slot::Doubt{slot.planned, slot.outcome};
  }
}

void BatchRun::look_again(Slot& slot) {
  if (!slot.doubt) {
    if (context_.observer != nullptr) {
      context_.observer->on_lease_lost(context_.consumer, *slot.delivery);
    }
    return;
  }
  // Otherwise another holder has the record, which shows when the message comes again.
  const auto claim = policy_.look_again(slot.delivery->message);
  if (claim && doubt_came_true(slot, *claim)) slot.outcome = slot.doubt->outcome;
}

void BatchRun::end_window() {
  leave_window();
  note_free_rows();
  if (followers_) leave_given_back();
  for (Slot& slot : window_) {
    if (slot.left) continue;
    if (slot.lost) look_again(slot);
    count_hopeless(slot);
    end(slot, std::move(slot.outcome));
  }
  first_ += window_.size();
  tries_ = 0;
  if (undone_ < kSinglyAfter) size_ = std::min(size_ * 2, slots_.size());
}

void BatchRun::after_undone() {
  if (in_vain_) return;
  ++undone_;
  if (undone_ >= kMarkEachAfter) marks_ = Savepoints::kEach;
  if (undone_ >= kSinglyAfter) size_ = 1;
}

void BatchRun::after_error() {
  if (goes_alone()) return;
  const std::size_t count = window_.size();
  switch (error_.kind) {
    case ErrorKind::kRejected:
    case ErrorKind::kLimit:
      // One message may be the cause: find out which.
      if (at_begin_) return give_back_rest();
      if (count == 1) {
        if (!find_culprit()) give_back(1);
        return;
      }
      size_ = count / 2;
      return;
    case ErrorKind::kBlocked:
      // The transaction has waited long enough; on a store with one writer all others would wait as
      // long.
      if (at_begin_ || context_.store->traits().single_writer) return give_back_rest();
      if (count == 1) return give_back(1);
      size_ = count / 2;
      return;
    case ErrorKind::kRetryTransaction:
      if (count == 1) break;
      // Fewer locked rows mean fewer conflicts. A conflict counts as an attempt only once the
      // transaction cannot be made smaller.
      size_ = count / 2;
      return backoff_.wait();
    case ErrorKind::kUnavailable:
    case ErrorKind::kInDoubt:
      break;
  }
  if (++tries_ < kMostTransactionTries) return backoff_.wait();
  if (find_culprit()) return;
  if (error_.kind != ErrorKind::kRetryTransaction) return give_back_rest();
  give_back(count);
  tries_ = kMostTransactionTries - 1;
}

void BatchRun::give_back(std::size_t count) {
  leave_window();
  forget_meetings();
  forget_hopeless();
  const bool blocked = error_.kind == ErrorKind::kBlocked && !at_begin_ && count == 1 &&
                       !context_.store->traits().single_writer;
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = slots_[first_ + i];
    if (!blocked) {
      ran_.given_back.push_back({slot.delivery, error_});
      if (slot.doubt) ran_.given_back.back().error.kind = ErrorKind::kInDoubt;
    }
    policy_.given_back(first_ + i);
    end(slot, blocked ? blocked_by(error_, kAskStoreAgain) : store_away(error_));
  }
  first_ += count;
}

}  // namespace semel::strategies
