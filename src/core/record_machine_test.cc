#include <semel/spi/record_machine.h>

#include <gtest/gtest.h>

namespace semel::spi {
namespace {

constexpr milliseconds kLease{1000};
constexpr StoreTime kStart{milliseconds(1'000'000)};

Fingerprint fingerprint(unsigned char byte) {
  Fingerprint f;
  f.bytes.fill(byte);
  return f;
}
Nonce nonce(unsigned char byte) {
  Nonce n;
  n.bytes.fill(byte);
  return n;
}

struct RecordMachine : testing::Test {
  std::optional<Record> record;
  StoreTime now = kStart;
  unsigned char draws = 0;

  ClaimRequest request(unsigned char body = 1) {
    ++draws;
    ClaimRequest r;
    r.fingerprint = fingerprint(body);
    if (body == 0) r.fingerprint = Fingerprint{};
    r.token = Token{draws};
    r.nonce = nonce(draws);
    r.lease = kLease;
    return r;
  }
  Claim claim(unsigned char body = 1) { return decide_claim(record, request(body), now); }
  Acquired acquire(unsigned char body = 1) { return std::get<Acquired>(claim(body)); }
  Applied finish(const Lease& lease, Finish::To to, milliseconds delay = milliseconds(0)) {
    Finish f;
    f.to = to;
    f.lease = lease;
    f.result = "result";
    f.reason = "why";
    f.error = "what";
    f.delay = delay;
    return decide_finish(record, f, now);
  }
  bool renew(const Lease& lease) { return decide_renew(*record, lease.nonce, kLease, now); }
  std::optional<Acquired> again_by(const Nonce& nonce) {
    ClaimRequest again;
    again.nonce = nonce;
    again.lease = kLease;
    return acquired_before(*record, again, now);
  }
};

TEST_F(RecordMachine, ANewKeyIsAcquired) {
  const Acquired a = acquire();
  EXPECT_EQ(a.attempt, 1);
  EXPECT_FALSE(a.taken_over);
  EXPECT_EQ(a.lease.token, Token{1});
  EXPECT_EQ(a.lease.nonce, nonce(1));
  EXPECT_EQ(a.since_first, milliseconds(0));
  EXPECT_EQ(record->state, RecordState::kConsuming);
  EXPECT_EQ(record->lease_until, now + kLease);
  EXPECT_EQ(record->first_seen, now);
}

// For a store's own callers: it is far beyond what the time can count.
TEST_F(RecordMachine, ALeaseForEverDoesNotEndAtOnce) {
  ClaimRequest for_ever = request();
  for_ever.lease = milliseconds::max();
  const Lease lease = std::get<Acquired>(decide_claim(record, for_ever, now)).lease;
  EXPECT_GT(record->lease_until, now + kLease);
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
  EXPECT_TRUE(decide_renew(*record, lease.nonce, milliseconds::max(), now));
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
}

TEST_F(RecordMachine, AHeldKeyIsBusy) {
  acquire();
  const Record before = *record;
  now += milliseconds(400);
  EXPECT_EQ(std::get<Busy>(claim()).retry_after, milliseconds(600));
  EXPECT_EQ(record->nonce, before.nonce);
  EXPECT_EQ(record->attempt, 1);
}

TEST_F(RecordMachine, BusyIsBounded) {
  EXPECT_EQ(busy_for(now + milliseconds(1), now), kShortestBusy);
  EXPECT_EQ(busy_for(now + std::chrono::hours(1), now), kLongestBusy);
  EXPECT_EQ(busy_for(now - std::chrono::hours(1), now), kShortestBusy);
}

TEST_F(RecordMachine, ALeaseThatEndedIsTakenOver) {
  const Acquired first = acquire();
  now += kLease - milliseconds(1);
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
  now += milliseconds(1);
  const Acquired second = acquire();
  EXPECT_TRUE(second.taken_over);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(second.since_first, kLease);
  EXPECT_TRUE(record->outcome_unknown);
  EXPECT_EQ(finish(first.lease, Finish::To::kCompleted), Applied::kLeaseLost);
  EXPECT_FALSE(renew(first.lease));
  EXPECT_EQ(finish(second.lease, Finish::To::kCompleted), Applied::kYes);
  EXPECT_FALSE(record->outcome_unknown);
}

TEST_F(RecordMachine, WhoSaysAClaimAgainIsAnsweredAsBefore) {
  const Acquired first = acquire();
  EXPECT_FALSE(again_by(nonce(9)));
  now += kLease;
  const Acquired second = acquire();
  EXPECT_FALSE(again_by(first.lease.nonce)) << "it was taken over";
  now += kLease * 2;
  const auto again = again_by(second.lease.nonce);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->lease.token, second.lease.token);
  EXPECT_EQ(again->lease.nonce, second.lease.nonce);
  EXPECT_EQ(again->attempt, 2);
  EXPECT_TRUE(again->taken_over);
  EXPECT_EQ(again->since_first, kLease * 3);
  EXPECT_EQ(record->lease_until, now + kLease) << "it had ended";
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
  EXPECT_EQ(finish(again->lease, Finish::To::kCompleted), Applied::kYes);
  EXPECT_FALSE(again_by(second.lease.nonce)) << "it is completed";
}

TEST_F(RecordMachine, AnUnknownOutcomeIsRememberedUntilTheKeyIsCompleted) {
  for (const Finish::To to : {Finish::To::kRetrying, Finish::To::kDead, Finish::To::kParked}) {
    record.reset();
    Finish cut;
    cut.to = to;
    cut.lease = acquire().lease;
    cut.unknown = true;
    EXPECT_EQ(decide_finish(record, cut, now), Applied::kYes);
    EXPECT_TRUE(record->outcome_unknown);
  }
  record.reset();
  Finish again;
  again.to = Finish::To::kRetrying;
  again.lease = acquire().lease;
  again.unknown = true;
  EXPECT_EQ(decide_finish(record, again, now), Applied::kYes);
  const Acquired second = acquire();
  EXPECT_TRUE(second.taken_over);
  EXPECT_EQ(finish(second.lease, Finish::To::kRetrying), Applied::kYes);
  EXPECT_TRUE(record->outcome_unknown) << "a failure that is known says nothing of the one before";
  EXPECT_EQ(finish(acquire().lease, Finish::To::kCompleted), Applied::kYes);
  EXPECT_FALSE(record->outcome_unknown);
}

TEST_F(RecordMachine, ALateFailureDoesNotFreeTheNewHoldersKey) {
  const Acquired late = acquire();
  now += kLease;
  const Acquired holder = acquire();
  for (Finish::To to : {Finish::To::kCompleted, Finish::To::kRetrying, Finish::To::kParked,
                        Finish::To::kDead, Finish::To::kNotStarted}) {
    EXPECT_EQ(finish(late.lease, to), Applied::kLeaseLost);
    EXPECT_EQ(record->nonce, holder.lease.nonce);
    EXPECT_EQ(record->state, RecordState::kConsuming);
  }
}

TEST_F(RecordMachine, AHolderNobodyOvertookMayStillRenewAndFinish) {
  const Acquired a = acquire();
  now += kLease * 3;
  EXPECT_TRUE(renew(a.lease));
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
  EXPECT_EQ(finish(a.lease, Finish::To::kCompleted), Applied::kYes);
}

TEST_F(RecordMachine, RenewMovesTheEnd) {
  const Acquired a = acquire();
  now += milliseconds(900);
  EXPECT_TRUE(renew(a.lease));
  now += milliseconds(900);
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
  now += milliseconds(100);
  EXPECT_TRUE(acquire().taken_over);
}

TEST_F(RecordMachine, CompletedStays) {
  const Acquired a = acquire();
  now += milliseconds(5);
  EXPECT_EQ(finish(a.lease, Finish::To::kCompleted), Applied::kYes);
  const StoreTime completed = now;
  now += std::chrono::hours(1000);
  const Completed answer = std::get<Completed>(claim());
  EXPECT_EQ(answer.result, "result");
  EXPECT_EQ(answer.completed_at, completed);
  EXPECT_EQ(finish(a.lease, Finish::To::kDead), Applied::kLeaseLost);
  EXPECT_FALSE(renew(a.lease)) << "the nonce's own former holder has no lease any more";
  EXPECT_FALSE(decide_unlock(*record, now));
}

TEST_F(RecordMachine, ARetryWaitsUntilItIsDue) {
  const Acquired a = acquire();
  EXPECT_EQ(finish(a.lease, Finish::To::kRetrying, milliseconds(300)), Applied::kYes);
  EXPECT_EQ(record->reason, "why");
  record->held = true;
  now += milliseconds(100);
  EXPECT_EQ(std::get<Waiting>(claim()).next_in, milliseconds(200));
  now += milliseconds(200);
  const Acquired again = acquire();
  EXPECT_EQ(again.attempt, 2);
  EXPECT_FALSE(again.taken_over);
  EXPECT_EQ(again.since_first, milliseconds(300));
}

TEST_F(RecordMachine, ARetryThatNobodyHoldsIsBusyUntilItIsDue) {
  const Acquired a = acquire();
  EXPECT_EQ(finish(a.lease, Finish::To::kRetrying, std::chrono::hours(1)), Applied::kYes);
  EXPECT_EQ(std::get<Busy>(claim()).retry_after, kLongestBusy);
  EXPECT_TRUE(std::holds_alternative<Conflict>(claim(2)));
  now += std::chrono::hours(1) - milliseconds(200);
  EXPECT_EQ(std::get<Busy>(claim()).retry_after, milliseconds(200));
  now += milliseconds(199);
  EXPECT_EQ(std::get<Busy>(claim()).retry_after, kShortestBusy);
  EXPECT_EQ(record->state, RecordState::kRetrying);
  now += milliseconds(1);
  EXPECT_EQ(acquire().attempt, 2);
}

TEST_F(RecordMachine, AParkedRecordSaysWhetherItsPayloadIsHeld) {
  const Acquired a = acquire();
  EXPECT_EQ(finish(a.lease, Finish::To::kParked), Applied::kYes);
  EXPECT_FALSE(std::get<Closed>(claim()).held);
  record->held = true;
  EXPECT_TRUE(std::get<Closed>(claim()).held);
}

TEST_F(RecordMachine, AnUncountedRetryGivesItsAttemptBack) {
  const Acquired a = acquire();
  Finish f;
  f.to = Finish::To::kRetrying;
  f.lease = a.lease;
  f.counted = false;
  EXPECT_EQ(decide_finish(record, f, now), Applied::kYes);
  EXPECT_EQ(acquire().attempt, 1);
}

TEST_F(RecordMachine, ANegativeDelayIsNone) {
  const Acquired a = acquire();
  finish(a.lease, Finish::To::kRetrying, milliseconds(-5));
  EXPECT_EQ(record->next_at, now);
}

TEST_F(RecordMachine, DeadAndParkedAreClosed) {
  for (const bool parked : {true, false}) {
    record.reset();
    const Acquired a = acquire();
    finish(a.lease, parked ? Finish::To::kParked : Finish::To::kDead);
    now += std::chrono::hours(100);
    const Closed closed = std::get<Closed>(claim());
    EXPECT_EQ(closed.parked, parked);
    EXPECT_EQ(closed.reason, "why");
    EXPECT_TRUE(decide_unlock(*record, now));
    EXPECT_FALSE(decide_unlock(*record, now));
    EXPECT_EQ(acquire().attempt, 2);
  }
}

TEST_F(RecordMachine, AFirstClaimGivenBackLeavesNothing) {
  const Acquired a = acquire();
  EXPECT_EQ(finish(a.lease, Finish::To::kNotStarted), Applied::kYes);
  EXPECT_FALSE(record);
  EXPECT_EQ(finish(a.lease, Finish::To::kNotStarted), Applied::kLeaseLost);
}

TEST_F(RecordMachine, AClaimOnARetryGivenBackIsClaimableAtOnce) {
  const Acquired a = acquire();
  finish(a.lease, Finish::To::kRetrying);
  const Acquired again = acquire();
  EXPECT_EQ(finish(again.lease, Finish::To::kNotStarted), Applied::kYes);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, RecordState::kRetrying);
  EXPECT_EQ(acquire().attempt, 2);
}

TEST_F(RecordMachine, AnUncountedRetryGivenBackIsNotForgotten) {
  const Acquired a = acquire();
  Finish f;
  f.to = Finish::To::kRetrying;
  f.lease = a.lease;
  f.reason = "busy";
  f.counted = false;
  EXPECT_EQ(decide_finish(record, f, now), Applied::kYes);
  now += milliseconds(50);
  finish(acquire().lease, Finish::To::kNotStarted);
  ASSERT_TRUE(record);
  now += milliseconds(50);
  const Acquired again = acquire();
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(again.since_first, milliseconds(100));
}

TEST_F(RecordMachine, ATakeOverGivenBackStaysInTheDark) {
  acquire();
  now += kLease;
  finish(acquire().lease, Finish::To::kNotStarted);
  ASSERT_TRUE(record);
  const Acquired again = acquire();
  EXPECT_EQ(again.attempt, 2);
  EXPECT_TRUE(again.taken_over);
}

TEST_F(RecordMachine, AFailureAfterATakeOverLightsNothing) {
  acquire();
  now += kLease;
  finish(acquire().lease, Finish::To::kRetrying);
  EXPECT_TRUE(acquire().taken_over) << "the try before the last may have made its effect";
}

TEST_F(RecordMachine, TheFingerprintComesBeforeTheState) {
  const auto conflict = [&] {
    const Claim answer = claim(2);
    const Conflict* c = std::get_if<Conflict>(&answer);
    return c != nullptr && c->recorded == fingerprint(1) && c->arrived == fingerprint(2);
  };
  const Acquired a = acquire(1);
  EXPECT_TRUE(conflict());
  now += kLease * 2;
  EXPECT_TRUE(conflict()) << "an ended lease is nobody else's payload's";
  finish(a.lease, Finish::To::kRetrying);
  EXPECT_TRUE(conflict());
  finish(acquire(1).lease, Finish::To::kParked);
  EXPECT_TRUE(conflict());
  EXPECT_TRUE(decide_unlock(*record, now));
  finish(acquire(1).lease, Finish::To::kDead);
  EXPECT_TRUE(conflict());
  EXPECT_TRUE(decide_unlock(*record, now));
  finish(acquire(1).lease, Finish::To::kCompleted);
  EXPECT_TRUE(conflict());
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(1)));
}

TEST_F(RecordMachine, WhereNoFingerprintIsKeptAllPayloadsAreTheSame) {
  finish(acquire(0).lease, Finish::To::kCompleted);
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(0)));
  EXPECT_TRUE(std::holds_alternative<Conflict>(claim(1))) << "this consumer keeps one";
  record.reset();
  finish(acquire(1).lease, Finish::To::kCompleted);
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(0))) << "this one keeps none";
}

TEST_F(RecordMachine, AClockThatWentBackMakesNothingNegative) {
  acquire();
  now -= milliseconds(500);
  EXPECT_GT(std::get<Busy>(claim()).retry_after, milliseconds(0));
  now += kLease * 2;
  record->first_seen = now + milliseconds(5);
  EXPECT_EQ(acquire().since_first, milliseconds(0));
}

TEST_F(RecordMachine, AFinishWithoutRecordIsALostLease) {
  EXPECT_EQ(finish(Lease{}, Finish::To::kCompleted), Applied::kLeaseLost);
  acquire();
  EXPECT_EQ(finish(Lease{}, Finish::To::kCompleted), Applied::kLeaseLost);
}

TEST(RecordMachineDeathTest, AFinishWithoutLeaseAborts) {
  std::optional<Record> record;
  EXPECT_DEATH((void)decide_finish(record, Finish{}, kStart), "without a lease");
  Finish ack;
  ack.to = Finish::To::kAckOnly;
  ack.lease = Lease{};
  EXPECT_DEATH((void)decide_finish(record, ack, kStart), "without a lease");
}

}  // namespace
}  // namespace semel::spi
