// Store: how a claim ends, who may end it, and how long the result is remembered.
#include <array>
#include <functional>
#include <map>
#include <string>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

using test::make_message;
using test::make_messages;
using test::pointers;

// Everything a holder may say, by name.
std::map<std::string, Finish> everything(const Lease& lease, const Message* keep) {
  return {{"completed", test::completed(lease, "late")},
          {"retrying", test::retrying(lease, 0ms, keep)},
          {"parked", test::parked(lease, keep)},
          {"dead", test::dead(lease, keep)},
          {"not started", test::not_started(lease)}};
}

TEST_P(StoreSuite, ALateHolderChangesNothing) {
  const Message m = message("m-1");
  const Lease late = acquire(m).lease;
  advance(kPastLease);
  const Acquired second = acquire(m);
  for (const auto& [what, late_finish] : everything(late, &m)) {
    SCOPED_TRACE(what);
    EXPECT_EQ(finish(late_finish), Applied::kLeaseLost);
    const Claim answer = claim(m);
    EXPECT_TRUE(is<Busy>(answer)) << describe(answer);
  }
  EXPECT_EQ(renew(late), Applied::kLeaseLost);
  if (has(Facet::kHeld)) {
    EXPECT_TRUE(take().empty()) << "nothing of a late finish is held";
    EXPECT_TRUE(all_dead_letters().empty()) << "nothing of a late finish is a dead letter";
  }
  EXPECT_EQ(finish(test::completed(second.lease, "right")), Applied::kYes);
  for (const auto& [what, late_finish] : everything(late, &m)) {
    SCOPED_TRACE(what + ", after the end");
    EXPECT_EQ(finish(late_finish), Applied::kLeaseLost);
  }
  EXPECT_EQ(renew(late), Applied::kLeaseLost);
  const Claim answer = claim(m, {kLease, {}, true});
  ASSERT_TRUE(is<Completed>(answer)) << describe(answer);
  EXPECT_EQ(std::get<Completed>(answer).result, "right");
}

TEST_P(StoreSuite, TheNonceProvesTheHolderNotTheToken) {
  const Message m = message("m-1");
  const Lease lease = acquire(m).lease;
  for (std::size_t byte = 0; byte < lease.nonce.bytes.size(); ++byte) {
    Lease forged = lease;
    forged.nonce.bytes[byte] ^= 0x80U;
    EXPECT_EQ(finish(test::completed(forged)), Applied::kLeaseLost);
    EXPECT_EQ(renew(forged), Applied::kLeaseLost);
  }
  Lease empty = lease;
  empty.nonce = {};
  EXPECT_EQ(finish(test::completed(empty)), Applied::kLeaseLost);
  EXPECT_EQ(finish(test::completed(lease)), Applied::kYes);
}

TEST_P(StoreSuite, AFinishedLeaseIsOver) {
  int number = 0;
  for (const char* how : {"completed", "retrying", "parked", "dead", "not started"}) {
    SCOPED_TRACE(how);
    const Message m = message("m-" + std::to_string(++number));
    const Lease lease = acquire(m).lease;
    auto endings = everything(lease, &m);
    ASSERT_EQ(finish(endings.at(how)), Applied::kYes);
    for (const auto& [what, again] : endings) {
      EXPECT_EQ(finish(again), Applied::kLeaseLost) << what;
    }
    EXPECT_EQ(renew(lease), Applied::kLeaseLost);
  }
}

TEST_P(StoreSuite, NoRecordOfANonceIsUsableForAnotherKey) {
  const Lease first = acquire(message("m-1")).lease;
  Lease crossed = acquire(message("m-2")).lease;
  crossed.key = first.key;
  EXPECT_EQ(finish(test::completed(crossed)), Applied::kLeaseLost);
  Lease unknown = first;
  unknown.key = message("never seen").key().id;
  EXPECT_EQ(finish(test::completed(unknown)), Applied::kLeaseLost);
  EXPECT_EQ(renew(unknown), Applied::kLeaseLost);
}

TEST_P(StoreSuite, ARenewedLeaseLastsFromNow) {
  const Message m = message("m-1");
  const Lease lease = acquire(m).lease;
  advance(40s);
  EXPECT_EQ(renew(lease, kLease), Applied::kYes);
  advance(40s);
  EXPECT_TRUE(is<Busy>(claim(m))) << "past the first end";
  EXPECT_EQ(renew(lease, 5s), Applied::kYes) << "may be shortened";
  advance(6s);
  EXPECT_TRUE(acquire(m).taken_over);
  EXPECT_EQ(renew(lease), Applied::kLeaseLost);
}

TEST_P(StoreSuite, AnEndedLeaseNobodyTookIsStillItsHolders) {
  const Message renewed = message("renewed");
  const Message finished = message("finished");
  const Lease first = acquire(renewed).lease;
  const Lease second = acquire(finished).lease;
  advance(kPastLease);
  EXPECT_EQ(renew(first), Applied::kYes);
  EXPECT_TRUE(is<Busy>(claim(renewed)));
  EXPECT_EQ(finish(test::completed(second)), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(finished)));
}

TEST_P(StoreSuite, NotStartedIsAsIfItHadNotBeen) {
  const Message fresh = message("fresh");
  ASSERT_EQ(finish(test::not_started(acquire(fresh).lease)), Applied::kYes);
  Acquired again = acquire(fresh);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_FALSE(again.taken_over);

  const Message retried = message("retried");
  ASSERT_EQ(finish(test::retrying(acquire(retried).lease, 1s, &retried)), Applied::kYes);
  advance(2s);
  ASSERT_EQ(finish(test::not_started(acquire(retried).lease)), Applied::kYes);
  advance(1s);
  again = acquire(retried);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_FALSE(again.taken_over);
}

TEST_P(StoreSuite, ATakeOverGivenBackIsATakeOverAgain) {
  const Message m = message("m-1");
  acquire(m);
  advance(kPastLease);
  const Acquired taken = acquire(m);
  ASSERT_TRUE(taken.taken_over);
  ASSERT_EQ(finish(test::not_started(taken.lease)), Applied::kYes);
  advance(1s);
  const Acquired again = acquire(m);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_TRUE(again.taken_over) << "the first try still ended in the dark";
}

TEST_P(StoreSuite, AMixedBatchEndsEachAsItSays) {
  const auto messages = make_messages(consumer(), "m-", 7);
  const auto claims = store().claim(pointers(messages), {kLease, {}, false}).value();
  std::vector<Lease> leases;
  for (const Claim& answer : claims) leases.push_back(std::get<Acquired>(answer).lease);
  advance(kPastLease);
  const Acquired thief = acquire(messages[3]);
  std::vector<Finish> batch = {
      test::completed(leases[0], "r0"),
      test::retrying(leases[1], 30s, &messages[1]),
      test::parked(leases[2], &messages[2], "operator"),
      test::completed(leases[3], "stolen"),
      test::dead(leases[4], &messages[4], "handler.native"),
      test::not_started(leases[5]),
      test::completed(leases[6], "r6"),
  };
  for (Finish& one : batch) one = given(one);
  const auto applied = store().finish(batch).value();
  ASSERT_EQ(applied.size(), batch.size());
  for (std::size_t i = 0; i < applied.size(); ++i) {
    EXPECT_EQ(applied[i], i == 3 ? Applied::kLeaseLost : Applied::kYes) << i;
  }
  reopen();
  const ClaimOptions options{kLease, {}, true};
  const Claim first = claim(messages[0], options);
  ASSERT_TRUE(is<Completed>(first)) << describe(first);
  EXPECT_EQ(std::get<Completed>(first).result, "r0");
  EXPECT_TRUE(is_retry(claim(messages[1])));
  const Claim parked = claim(messages[2]);
  ASSERT_TRUE(is<Closed>(parked)) << describe(parked);
  EXPECT_TRUE(std::get<Closed>(parked).parked);
  EXPECT_EQ(finish(test::completed(thief.lease)), Applied::kYes);
  const Claim dead = claim(messages[4]);
  ASSERT_TRUE(is<Closed>(dead)) << describe(dead);
  EXPECT_FALSE(std::get<Closed>(dead).parked);
  EXPECT_EQ(acquire(messages[5]).attempt, 1);
  EXPECT_TRUE(is<Completed>(claim(messages[6])));
}

TEST_P(StoreSuite, ARecordAfterARetryCanEndInEveryWay) {
  int number = 0;
  for (const char* how : {"completed", "retrying", "parked", "dead", "not started"}) {
    SCOPED_TRACE(how);
    const Message m = message("m-" + std::to_string(++number));
    ASSERT_EQ(finish(test::retrying(acquire(m).lease, 1s, &m)), Applied::kYes);
    advance(2s);
    const Acquired second = acquire(m);
    EXPECT_EQ(second.attempt, 2);
    EXPECT_EQ(finish(everything(second.lease, &m).at(how)), Applied::kYes);
  }
}

TEST_P(StoreSuite, WhatWasRecordedOutlivesTheStore) {
  if (!durable()) GTEST_SKIP() << "trait: not durable";
  std::map<RecordState, Message> messages;
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kCompleted, RecordState::kRetrying,
        RecordState::kParked, RecordState::kDead}) {
    messages.emplace(state, message(to_string(state)));
    bring_to(messages.at(state), state);
  }
  reopen();
  EXPECT_TRUE(is<Completed>(claim(messages.at(RecordState::kCompleted))));
  EXPECT_TRUE(is_retry(claim(messages.at(RecordState::kRetrying))));
  EXPECT_TRUE(is<Closed>(claim(messages.at(RecordState::kParked))));
  EXPECT_TRUE(is<Closed>(claim(messages.at(RecordState::kDead))));
  EXPECT_TRUE(is<Busy>(claim(messages.at(RecordState::kConsuming))));
  advance(kPastLease);
  EXPECT_TRUE(acquire(messages.at(RecordState::kConsuming)).taken_over);
}

TEST_P(StoreSuite, TwoStoresOnOneDatabaseSeeEachOther) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const auto other = place().open();
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->attach({"payments", "recipe", false, {}}).value(), consumer());
  const Message m = message("m-1");
  const Lease mine = acquire(m).lease;
  EXPECT_TRUE(is<Busy>(claim_on(*other, m)));
  advance(kPastLease);
  const Claim theirs = claim_on(*other, m);
  ASSERT_TRUE(is<Acquired>(theirs)) << describe(theirs);
  EXPECT_GT(std::get<Acquired>(theirs).lease.token, mine.token);
  EXPECT_EQ(finish(test::completed(mine)), Applied::kLeaseLost);
  EXPECT_EQ(finish_on(*other, test::completed(std::get<Acquired>(theirs).lease)), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(m)));
  const Message next = message("m-2");
  EXPECT_GT(std::get<Acquired>(claim_on(*other, next)).lease.token,
            std::get<Acquired>(theirs).lease.token);
}

TEST_P(StoreSuite, PurgeForgetsOnlyWhatIsFinishedAndPastItsTtl) {
  const ConsumerNumber brief = attach("brief", 24h);
  const ConsumerNumber keeps = attach("keeps");
  const Message done = make_message(brief, "done");
  const Message kept = make_message(keeps, "done");
  complete(done);
  complete(kept);
  std::map<RecordState, Message> open;
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kRetrying, RecordState::kParked}) {
    open.emplace(state, make_message(brief, to_string(state)));
    bring_to(open.at(state), state);
  }
  const auto purge_all = [&] {
    std::size_t purged = 0;
    for (;;) {
      const auto report = store().purge(10s);
      EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
      if (!report) return purged;
      purged += report->records;
      if (!report->more) return purged;
    }
  };
  advance(23h);
  EXPECT_EQ(purge_all(), 0U);
  EXPECT_TRUE(is<Completed>(claim(done)));
  // Well past it: a store may forget in blocks, once the youngest of a block is past its ttl.
  advance(60 * 24h);
  purge_all();
  advance(60 * 24h);
  purge_all();
  EXPECT_EQ(acquire(done).attempt, 1) << "forgotten";
  EXPECT_TRUE(is<Completed>(claim(kept))) << "kept for ever";
  EXPECT_TRUE(acquire(open.at(RecordState::kConsuming)).taken_over);
  EXPECT_EQ(acquire(open.at(RecordState::kRetrying)).attempt, 2);
  EXPECT_TRUE(is<Closed>(claim(open.at(RecordState::kParked))));
}

TEST_P(StoreSuite, WithoutLeaseNoRecordIsTouched) {
  if (!has(Facet::kHeld)) GTEST_SKIP() << "declared: it holds no messages";
  const Message m = message("m-1", "the recorded payload");
  complete(m);
  const Message other = message("m-1", "another payload");
  Finish letter;
  letter.to = Finish::To::kDead;
  letter.keep = &other;
  letter.reason = "key.conflict";
  ASSERT_EQ(finish(letter), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(m)));
  Finish wait;
  wait.to = Finish::To::kRetrying;
  wait.keep = &other;
  wait.delay = 1s;
  ASSERT_EQ(finish(wait), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(m)));
  const Message unknown = message("m-2");
  wait.keep = &unknown;
  ASSERT_EQ(finish(wait), Applied::kYes);
  EXPECT_EQ(acquire(unknown).attempt, 1) << "only its payload is kept";
}

}  // namespace
}  // namespace semel::conformance
