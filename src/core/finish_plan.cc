#include <semel/spi/finish_plan.h>

#include <array>

namespace semel::spi {
namespace {

using To = Finish::To;

// A message that is held again stays in its row. An earlier row of its record is used where it has
// the same payload, so that a record has one row.
constexpr std::array kRowsThenMessage = {PayloadFrom::kArrivalRow, PayloadFrom::kRecordRow,
                                         PayloadFrom::kMessage};
// The record's payload cannot be compared with that of the earlier row.
constexpr std::array kArrivalRowThenMessage = {PayloadFrom::kArrivalRow, PayloadFrom::kMessage};
// Without the message, the rows hold all that can be kept of it.
constexpr std::array kMessageThenRows = {PayloadFrom::kMessage, PayloadFrom::kArrivalRow,
                                         PayloadFrom::kRecordRow};
constexpr std::array kMessageAlone = {PayloadFrom::kMessage};

StoreTime first_seen_of(const Finish& finish, StoreTime now) {
  if (finish.arrival == nullptr || !finish.arrival->since_first) return now;
  return now - *finish.arrival->since_first;
}

FinishPlan::JournalAct journal_of(const Finish& finish) {
  const bool waits = finish.to == To::kRetrying || finish.to == To::kParked;
  if (waits && finish.giving_up) return FinishPlan::JournalAct::kNoteGivingUp;
  if (finish.to == To::kDead) return FinishPlan::JournalAct::kForgetGivingUp;
  return FinishPlan::JournalAct::kNone;
}

void hold(FinishPlan& plan, FinishPlan::KeepAct how, const Record& record, const Finish& finish) {
  const bool same = finish.keep == nullptr || finish.keep->fingerprint() == record.fingerprint;
  plan.keep = how;
  plan.from = same ? std::span<const PayloadFrom>(kRowsThenMessage) : kArrivalRowThenMessage;
  // The same payload is not held twice for one record: a parked second row would belong to no
  // record.
  if (same) plan.record_row = FinishPlan::RowAct::kRemove;
  plan.due = record.next_at;
  plan.first_seen = record.first_seen;
}

// A row that its record waits with is the only copy of its message. So is the row of an attempt
// that still runs: it may die before it records its end.
FinishPlan::RowAct row_of(const Record& held_for) noexcept {
  switch (held_for.state) {
    case RecordState::kRetrying:
    case RecordState::kConsuming:
      return FinishPlan::RowAct::kWait;
    case RecordState::kParked:
      return FinishPlan::RowAct::kPark;
    case RecordState::kCompleted:
    case RecordState::kDead:
      break;
  }
  return FinishPlan::RowAct::kRemove;
}

StoreTime due_of(const Record& held_for) noexcept {
  return held_for.state == RecordState::kConsuming ? held_for.lease_until : held_for.next_at;
}

void bury(FinishPlan& plan, std::span<const PayloadFrom> from, StoreTime first_seen) {
  plan.keep = FinishPlan::KeepAct::kDeadLetter;
  plan.from = from;
  plan.first_seen = first_seen;
}

}  // namespace

FinishPlan plan_completion() noexcept {
  FinishPlan plan;
  plan.record = FinishPlan::RecordAct::kSave;
  plan.journal = FinishPlan::JournalAct::kForget;
  plan.inbox = FinishPlan::InboxAct::kNoteProcessed;
  plan.arrival_row = FinishPlan::RowAct::kRemove;
  // When its retry is due, nothing is left to do.
  plan.record_row = FinishPlan::RowAct::kRemove;
  return plan;
}

FinishPlan plan_finish(std::optional<Record>& record, const Finish& finish, StoreTime now) {
  FinishPlan plan;
  plan.applied = decide_finish(record, finish, now);
  if (plan.applied == Applied::kLeaseLost) return plan;
  if (finish.to == To::kCompleted) return plan_completion();
  plan.record = record ? FinishPlan::RecordAct::kSave : FinishPlan::RecordAct::kErase;
  plan.journal = journal_of(finish);
  if (finish.to == To::kNotStarted) {
    plan.arrival_row = FinishPlan::RowAct::kRelease;
    return plan;
  }
  plan.inbox = FinishPlan::InboxAct::kNoteOutcome;
  if (finish.to == To::kDead) {
    bury(plan, kMessageThenRows, record->first_seen);
    plan.arrival_row = FinishPlan::RowAct::kRemove;
    plan.record_row = FinishPlan::RowAct::kRemove;
    return plan;
  }
  const bool parked = finish.to == To::kParked;
  hold(plan, parked ? FinishPlan::KeepAct::kPark : FinishPlan::KeepAct::kHold, *record, finish);
  return plan;
}

FinishPlan plan_without_record(const Finish& finish, const Record* held_for, StoreTime now) {
  FinishPlan plan;
  switch (finish.to) {
    case To::kNotStarted:
      plan.arrival_row = FinishPlan::RowAct::kRelease;
      return plan;
    case To::kRetrying:
      plan.inbox = FinishPlan::InboxAct::kNoteOutcome;
      plan.keep = FinishPlan::KeepAct::kHold;
      plan.from = kArrivalRowThenMessage;
      plan.due = due_after(now, finish.delay);
      plan.first_seen = first_seen_of(finish, now);
      return plan;
    case To::kParked:
    case To::kDead:
      plan.inbox = FinishPlan::InboxAct::kNoteOutcome;
      // No record says which rows belong to it.
      bury(plan, kMessageAlone, first_seen_of(finish, now));
      break;
    case To::kCompleted:
      plan.inbox = FinishPlan::InboxAct::kNoteProcessed;
      break;
    case To::kAckOnly:
      if (!met_only(finish) || held_for == nullptr) break;
      plan.arrival_row = row_of(*held_for);
      if (plan.arrival_row == FinishPlan::RowAct::kRemove) break;
      plan.due = due_of(*held_for);
      return plan;
  }
  plan.arrival_row = FinishPlan::RowAct::kRemove;
  plan.forgets_received = true;
  return plan;
}

}  // namespace semel::spi
