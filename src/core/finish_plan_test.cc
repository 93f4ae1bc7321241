#include <semel/spi/finish_plan.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "core/key_encoding.h"

namespace semel::spi {
namespace {

using namespace std::chrono_literals;
using To = Finish::To;
using Keep = FinishPlan::KeepAct;
using Row = FinishPlan::RowAct;
using Journal = FinishPlan::JournalAct;
using Inbox = FinishPlan::InboxAct;

constexpr std::array kAllEnds = {To::kCompleted, To::kRetrying, To::kParked, To::kDead,
                                 To::kNotStarted};

Message planned_message(char payload) {
  Message::Parts parts;
  parts.key.text = "key";
  parts.key.id = core::encode_key(ConsumerNumber{3}, parts.key.text);
  parts.payload = payload;
  parts.fingerprint.bytes.fill(static_cast<std::uint8_t>(payload));
  return Message(parts);
}

class FinishPlanTest : public testing::Test {
 protected:
  FinishPlanTest() {
    const Claim answer = decide_claim(
        record_, {message_.key().id, message_.fingerprint(), Token{7}, nonce(), 60s}, now_);
    EXPECT_TRUE(std::holds_alternative<Acquired>(answer));
    now_ += 3s;
  }
  static Nonce nonce() {
    Nonce drawn;
    drawn.bytes.fill(0x11);
    return drawn;
  }
  Finish finish(To to) const {
    Finish finish;
    finish.to = to;
    finish.lease = Lease{message_.key().id, Token{7}, nonce()};
    return finish;
  }
  FinishPlan plan(const Finish& finish) { return plan_finish(record_, finish, now_); }
  static std::vector<PayloadFrom> from(const FinishPlan& plan) {
    return {plan.from.begin(), plan.from.end()};
  }

  StoreTime now_{1h};
  const Message message_ = planned_message('a');
  std::optional<Record> record_;
};

TEST_F(FinishPlanTest, ALostLeaseHasNoActs) {
  for (const To to : kAllEnds) {
    Finish late = finish(to);
    late.lease->nonce.bytes[0] ^= 1U;
    late.keep = &message_;
    late.inbox = true;
    late.giving_up.emplace();
    const FinishPlan lost = plan(late);
    EXPECT_EQ(lost.applied, Applied::kLeaseLost);
    EXPECT_EQ(lost.record, FinishPlan::RecordAct::kNone);
    EXPECT_EQ(lost.journal, Journal::kNone);
    EXPECT_EQ(lost.inbox, Inbox::kNone);
    EXPECT_EQ(lost.keep, Keep::kNone);
    EXPECT_EQ(lost.arrival_row, Row::kNone);
    EXPECT_EQ(lost.record_row, Row::kNone);
    EXPECT_EQ(record_->state, RecordState::kConsuming);
  }
}

TEST_F(FinishPlanTest, ACompletionEndsEveryRow) {
  const FinishPlan done = plan(finish(To::kCompleted));
  EXPECT_EQ(done.record, FinishPlan::RecordAct::kSave);
  EXPECT_EQ(record_->state, RecordState::kCompleted);
  EXPECT_EQ(done.journal, Journal::kForget);
  EXPECT_EQ(done.inbox, Inbox::kNoteProcessed);
  EXPECT_EQ(done.keep, Keep::kNone);
  EXPECT_EQ(done.arrival_row, Row::kRemove);
  EXPECT_EQ(done.record_row, Row::kRemove);
  EXPECT_FALSE(done.forgets_received) << "the message is in the inbox, processed";
}

TEST_F(FinishPlanTest, ARetryGoesOnAsTheRowItIs) {
  Finish again = finish(To::kRetrying);
  again.delay = 5s;
  again.keep = &message_;
  const FinishPlan held = plan(again);
  EXPECT_EQ(held.keep, Keep::kHold);
  EXPECT_EQ(from(held), (std::vector{PayloadFrom::kArrivalRow, PayloadFrom::kRecordRow,
                                     PayloadFrom::kMessage}));
  EXPECT_EQ(held.due, now_ + 5s);
  EXPECT_EQ(held.first_seen, now_ - 3s) << "as its record says";
  EXPECT_EQ(held.inbox, Inbox::kNoteOutcome);
  EXPECT_EQ(held.arrival_row, Row::kNone);
  EXPECT_EQ(held.record_row, Row::kRemove) << "unless it is what waits";
}

TEST_F(FinishPlanTest, AnEarlierRowDoesNotServeForAnotherPayload) {
  const Message other = planned_message('b');
  for (const To to : {To::kRetrying, To::kParked}) {
    auto record = record_;
    Finish again = finish(to);
    again.keep = &other;
    const FinishPlan held = plan_finish(record, again, now_);
    EXPECT_EQ(from(held), (std::vector{PayloadFrom::kArrivalRow, PayloadFrom::kMessage}));
    EXPECT_EQ(held.record_row, Row::kNone) << "it comes back by itself";
  }
}

TEST_F(FinishPlanTest, ATimeBeyondAllOthersIsStillATime) {
  Finish again = finish(To::kRetrying);
  again.delay = milliseconds::max();
  EXPECT_EQ(plan(again).due, kLatestDue);
  again.lease.reset();
  EXPECT_EQ(plan_without_record(again, nullptr, now_).due, kLatestDue);
  again.delay = milliseconds::min();
  EXPECT_EQ(plan_without_record(again, nullptr, now_).due, now_);
}

TEST_F(FinishPlanTest, AParkedMessageWaitsForAPerson) {
  const FinishPlan parked = plan(finish(To::kParked));
  EXPECT_EQ(parked.keep, Keep::kPark);
  EXPECT_EQ(record_->state, RecordState::kParked);
}

TEST_F(FinishPlanTest, ADeadMessageLeavesALetterAndNoRow) {
  const FinishPlan dead = plan(finish(To::kDead));
  EXPECT_EQ(dead.keep, Keep::kDeadLetter);
  EXPECT_EQ(from(dead), (std::vector{PayloadFrom::kMessage, PayloadFrom::kArrivalRow,
                                     PayloadFrom::kRecordRow}));
  EXPECT_EQ(dead.arrival_row, Row::kRemove);
  EXPECT_EQ(dead.record_row, Row::kRemove);
  EXPECT_EQ(dead.journal, Journal::kForgetGivingUp);
}

TEST_F(FinishPlanTest, AClaimThatIsUndoneShowsItsRow) {
  const FinishPlan undone = plan(finish(To::kNotStarted));
  EXPECT_EQ(undone.record, FinishPlan::RecordAct::kErase);
  EXPECT_EQ(undone.arrival_row, Row::kRelease);
  EXPECT_EQ(undone.record_row, Row::kNone);
  EXPECT_EQ(undone.inbox, Inbox::kNone);
  EXPECT_EQ(undone.keep, Keep::kNone);
}

TEST_F(FinishPlanTest, OnlyWhatWaitsIsNotedAsGivenUp) {
  for (const To to : kAllEnds) {
    auto record = record_;
    Finish end = finish(to);
    end.giving_up.emplace();
    const bool noted = plan_finish(record, end, now_).journal == Journal::kNoteGivingUp;
    EXPECT_EQ(noted, to == To::kRetrying || to == To::kParked) << static_cast<int>(to);
  }
}

TEST_F(FinishPlanTest, WithoutALeaseNoRecordIsTouched) {
  for (const To to :
       {To::kCompleted, To::kRetrying, To::kParked, To::kDead, To::kNotStarted, To::kAckOnly}) {
    Finish end = finish(to);
    EXPECT_EQ(has_lease(end), to != To::kAckOnly);
    end.lease.reset();
    EXPECT_FALSE(has_lease(end));
    const FinishPlan plan = plan_without_record(end, nullptr, now_);
    EXPECT_EQ(plan.applied, Applied::kYes);
    EXPECT_EQ(plan.record, FinishPlan::RecordAct::kNone);
    EXPECT_EQ(plan.journal, Journal::kNone);
    EXPECT_EQ(plan.record_row, Row::kNone);
  }
}

TEST_F(FinishPlanTest, WithoutALeaseTheRowOfTheMessageMovesOrGoes) {
  Arrival arrival;
  arrival.since_first = 20s;
  Finish end = finish(To::kRetrying);
  end.lease.reset();
  end.arrival = &arrival;
  const FinishPlan again = plan_without_record(end, nullptr, now_);
  EXPECT_EQ(again.keep, Keep::kHold);
  EXPECT_EQ(from(again), (std::vector{PayloadFrom::kArrivalRow, PayloadFrom::kMessage}));
  EXPECT_EQ(again.first_seen, now_ - 20s);
  EXPECT_EQ(again.arrival_row, Row::kNone);
  for (const To to : {To::kParked, To::kDead}) {
    end.to = to;
    const FinishPlan dead = plan_without_record(end, nullptr, now_);
    EXPECT_EQ(dead.keep, Keep::kDeadLetter);
    EXPECT_EQ(from(dead), (std::vector{PayloadFrom::kMessage})) << "no record says whose a row is";
    EXPECT_EQ(dead.first_seen, now_ - 20s);
    EXPECT_EQ(dead.arrival_row, Row::kRemove);
    EXPECT_TRUE(dead.forgets_received);
  }
  for (const To to : {To::kCompleted, To::kAckOnly}) {
    end.to = to;
    const FinishPlan acked = plan_without_record(end, nullptr, now_);
    EXPECT_EQ(acked.keep, Keep::kNone);
    EXPECT_EQ(acked.arrival_row, Row::kRemove);
    EXPECT_TRUE(acked.forgets_received);
    EXPECT_EQ(acked.inbox, to == To::kCompleted ? Inbox::kNoteProcessed : Inbox::kNone);
  }
  end.to = To::kNotStarted;
  EXPECT_EQ(plan_without_record(end, nullptr, now_).arrival_row, Row::kRelease);
}

TEST_F(FinishPlanTest, ARowThatOnlyMetItsRecordStaysWhileThatWaits) {
  Finish met;
  met.to = To::kAckOnly;
  Record& record = *record_;
  record.next_at = now_ + 7s;
  record.state = RecordState::kRetrying;
  const FinishPlan again = plan_without_record(met, &record, now_);
  EXPECT_EQ(again.arrival_row, Row::kWait);
  EXPECT_EQ(again.due, now_ + 7s);
  EXPECT_FALSE(again.forgets_received);
  record.next_at = now_ - 1s;
  EXPECT_EQ(plan_without_record(met, &record, now_).due, now_ - 1s) << "it stands where it stood";
  record.state = RecordState::kParked;
  EXPECT_EQ(plan_without_record(met, &record, now_).arrival_row, Row::kPark);
  record.state = RecordState::kConsuming;
  record.lease_until = now_ + 9s;
  const FinishPlan tried = plan_without_record(met, &record, now_);
  EXPECT_EQ(tried.arrival_row, Row::kWait) << "the try may die";
  EXPECT_EQ(tried.due, now_ + 9s);
  for (const auto over : {RecordState::kCompleted, RecordState::kDead}) {
    record.state = over;
    EXPECT_EQ(plan_without_record(met, &record, now_).arrival_row, Row::kRemove);
  }
}

TEST_F(FinishPlanTest, WhatWasHandledGoesWhateverARecordWaitsFor) {
  record_->state = RecordState::kRetrying;
  Finish done;
  done.to = To::kCompleted;
  EXPECT_EQ(plan_without_record(done, &*record_, now_).arrival_row, Row::kRemove);
  Finish sent;
  sent.to = To::kAckOnly;
  sent.outgoing.emplace_back();
  EXPECT_EQ(plan_without_record(sent, &*record_, now_).arrival_row, Row::kRemove);
}

}  // namespace
}  // namespace semel::spi
