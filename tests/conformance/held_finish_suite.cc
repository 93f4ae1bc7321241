// HeldMessages: how rows come and go with the end of a message.
#include <algorithm>
#include <string>

#include "core/key_encoding.h"
#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

TEST_P(HeldSuite, ARowGoesInTheCommitThatCompletesItsRecord) {
  append({held_message("k", "payload")});
  const Arrival arrival = take().at(0);
  const Message m = message("k", "payload");
  Finish done = test::completed(acquire(m).lease);
  done.ack = arrival.row;
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
  EXPECT_TRUE(is<Completed>(claim(m)));
}

TEST_P(HeldSuite, ARowStaysWhereTheLeaseIsLost) {
  append({held_message("k", "payload")});
  const Arrival arrival = take(10, 30s).at(0);
  const Message m = message("k", "payload");
  const Lease late = acquire(m).lease;
  advance(kPastLease);
  const Lease current = acquire(m).lease;
  for (Finish lost : {test::completed(late), test::retrying(late, 0ms, &m), test::dead(late, &m),
                      test::parked(late, &m)}) {
    lost.ack = arrival.row;
    EXPECT_EQ(finish(lost), Applied::kLeaseLost);
    EXPECT_EQ(held().depth(consumer()).value().rows, 1U);
  }
  Finish done = test::completed(current);
  done.ack = take().at(0).row;
  EXPECT_EQ(finish(done), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

TEST_P(HeldSuite, ARetryIsHeldWithKeyFingerprintAndOrigin) {
  auto parts = test::make_parts(consumer(), Bytes("a\0key", 5), "the payload");
  parts.headers = {{"h", "v"}};
  parts.content_type = "text/plain";
  parts.type = "t";
  const Message m(parts);
  Arrival origin;
  origin.partition = "orders-3";
  origin.position = "orders-3-17";
  Finish again = test::retrying(acquire(m).lease, 20s, &m);
  again.arrival = &origin;
  ASSERT_EQ(finish(again), Applied::kYes);
  EXPECT_TRUE(take().empty()) << "not due";
  reopen();
  advance(21s);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].key, m.key().text);
  ASSERT_TRUE(taken[0].fingerprint.has_value());
  EXPECT_EQ(*taken[0].fingerprint, m.fingerprint());
  EXPECT_EQ(taken[0].payload, "the payload");
  ASSERT_EQ(taken[0].headers.size(), 1U);
  EXPECT_EQ(taken[0].headers[0].value, "v");
  EXPECT_EQ(taken[0].content_type, "text/plain");
  EXPECT_EQ(taken[0].type, "t");
  EXPECT_EQ(acquire(m).attempt, 2);
}

TEST_P(HeldSuite, ARetriedRowMovesAndIsNotDoubled) {
  append({held_message("k", "payload")});
  const Message m = message("k", "payload");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto taken = take();
    ASSERT_EQ(taken.size(), 1U) << "attempt " << attempt;
    const Acquired acquired = acquire(m);
    EXPECT_EQ(acquired.attempt, attempt);
    Finish again = test::retrying(acquired.lease, 5s, &m);
    again.ack = taken[0].row;
    ASSERT_EQ(finish(again), Applied::kYes);
    EXPECT_EQ(held().depth(consumer()).value().rows, 1U);
    EXPECT_TRUE(take().empty());
    advance(6s);
  }
}

TEST_P(HeldSuite, ALateAckOfTheOldRowLeavesTheRetry) {
  append({held_message("k", "payload")});
  const RowTag old = *take().at(0).row;
  const Message m = message("k", "payload");
  Finish again = test::retrying(acquire(m).lease, 5s, &m);
  again.ack = old;
  ASSERT_EQ(finish(again), Applied::kYes);
  // Someone who had taken the row before, and was slow.
  ASSERT_EQ(finish(test::ack_only(old)), Applied::kYes);
  ASSERT_TRUE(held().remove({&old, 1}).has_value());
  advance(6s);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, WithoutARecordAHeldMessageCountsItsTries) {
  const Message m = message("k", "payload");
  Finish wait;
  wait.to = Finish::To::kRetrying;
  wait.keep = &m;
  wait.delay = 5s;
  wait.attempts = 1;
  ASSERT_EQ(finish(wait), Applied::kYes);
  advance(6s);
  Arrival arrival = take().at(0);
  EXPECT_EQ(arrival.attempts, 1);
  ASSERT_TRUE(arrival.since_first.has_value());
  EXPECT_GE(*arrival.since_first, 5s);
  wait.attempts = 2;
  wait.arrival = &arrival;
  wait.ack = arrival.row;
  ASSERT_EQ(finish(wait), Applied::kYes);
  advance(6s);
  const auto again = take();
  ASSERT_EQ(again.size(), 1U) << "moved, not doubled";
  EXPECT_EQ(again[0].attempts, 2);
  ASSERT_TRUE(again[0].since_first.has_value());
  EXPECT_GE(*again[0].since_first, 10s) << "since the first try, not the last";
  EXPECT_TRUE(is<Acquired>(claim(m))) << "no record was made";
}

TEST_P(HeldSuite, AParkedPayloadWaitsForAPerson) {
  append({held_message("k", "payload")});
  const Arrival arrival = take().at(0);
  const Message m = message("k", "payload");
  Finish park = test::parked(acquire(m).lease, &m);
  park.ack = arrival.row;
  ASSERT_EQ(finish(park), Applied::kYes);
  advance(24h);
  EXPECT_TRUE(take().empty());
  reopen();
  ASSERT_TRUE(records().unlock(m.key().id).value());
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].payload, "payload");
  EXPECT_EQ(taken[0].key, m.key().text);
  EXPECT_TRUE(is<Acquired>(claim(m)));
}

TEST_P(HeldSuite, ADeadRowLeavesTheQueue) {
  append({held_message("k", "payload")});
  const Arrival arrival = take().at(0);
  const Message m = message("k", "payload");
  Finish die = test::dead(acquire(m).lease, &m);
  die.ack = arrival.row;
  ASSERT_EQ(finish(die), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
  EXPECT_EQ(all_dead_letters().size(), 1U);
}

TEST_P(HeldSuite, AnAckAloneTakesTheRow) {
  append({held_message("k", "payload"), held_message("k", "payload")});
  complete(message("k", "payload"));
  std::vector<Finish> acks;
  for (const Arrival& arrival : take()) acks.push_back(test::ack_only(*arrival.row));
  ASSERT_EQ(acks.size(), 2U);
  const auto applied = store().finish(acks).value();
  EXPECT_EQ(std::ranges::count(applied, Applied::kYes), 2);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

TEST_P(HeldSuite, ARowThatItsRecordWaitsWithStaysWhereItsMessageOnlyMetThat) {
  const Message m = message("k", "payload");
  append({held_message("done", "payload"), held_message("done", "payload")});
  complete(message("done", "payload"));
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 5s, &m)), Applied::kYes);
  advance(6s);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 3U);
  std::vector<Finish> acks;
  for (const Arrival& arrival : taken) acks.push_back(test::ack_only(*arrival.row));
  const auto applied = store().finish(acks).value();
  EXPECT_EQ(std::ranges::count(applied, Applied::kYes), 3);
  reopen();
  // It waits no longer than its record does, and nothing hides it.
  const auto again = take();
  ASSERT_EQ(again.size(), 1U) << "it is the only copy of its message";
  EXPECT_EQ(again[0].key, m.key().text);
  EXPECT_EQ(again[0].payload, "payload");
  Finish done = test::completed(acquire(m).lease);
  done.ack = again[0].row;
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

TEST_P(HeldSuite, ARowStaysWhileACopyOfItsMessageIsTried) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 5s, &m)), Applied::kYes);
  advance(6s);
  const RowTag row = *take().at(0).row;
  // The broker delivers it again, and that copy is being tried when the row's worker ends.
  ASSERT_TRUE(is<Acquired>(claim(m)));
  ASSERT_EQ(finish(test::ack_only(row)), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 1U) << "the try may die";
  advance(24h);
  const auto again = take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].payload, "payload");
  complete(m);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

TEST_P(HeldSuite, ARowKnownByAPositionStaysWithItsRecordToo) {
  auto parts = test::make_parts(consumer(), "topic-3-17", "payload");
  parts.key.id = core::encode_position(consumer(), "topic-3-", 17);
  const Message m(parts);
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 0ms, &m)), Applied::kYes);
  ASSERT_EQ(finish(test::ack_only(*take().at(0).row)), Applied::kYes);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, WhatWasHandledWithoutARecordGoesWhateverARecordWaitsFor) {
  const Message m = message("k", "payload");
  Finish handled;
  handled.to = Finish::To::kCompleted;
  Finish sent = handled;
  sent.to = Finish::To::kAckOnly;
  sent.outgoing.push_back({attach("relay"), held_message("sent", "sent")});
  for (Finish end : {handled, sent}) {
    ASSERT_EQ(finish(test::retrying(acquire(m).lease, 0ms, &m)), Applied::kYes);
    end.ack = take().at(0).row;
    ASSERT_EQ(finish(end), Applied::kYes);
    EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
  }
  complete(m);
}

TEST_P(HeldSuite, AMessageNotStartedKeepsItsRow) {
  append({held_message("k", "payload")});
  const Arrival arrival = take().at(0);
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::not_started(acquire(m).lease)), Applied::kYes);
  const RowTag row = *arrival.row;
  ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
  EXPECT_EQ(take().size(), 1U);
  EXPECT_EQ(acquire(m).attempt, 1);
}

TEST_P(HeldSuite, ARetryOfACopyFromElsewhereGoesOnAsTheRowThatIsHeld) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 5s, &m)), Applied::kYes);
  advance(6s);
  // The broker delivers it again, and that copy is first.
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 5s, &m)), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 1U);
  EXPECT_TRUE(take().empty()) << "due with its record";
  advance(6s);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, ACopyFromElsewhereThatCompletesEndsTheRowThatIsHeld) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 5s, &m)), Applied::kYes);
  advance(6s);
  complete(m);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

TEST_P(HeldSuite, ADeadMessageThatIsNotBroughtIsKeptAsItsRowHasIt) {
  append({held_message("k", "payload")});
  const Arrival arrival = take().at(0);
  const Message m = message("k", "payload");
  Finish die = test::dead(acquire(m).lease, nullptr);
  die.ack = arrival.row;
  ASSERT_EQ(finish(die), Applied::kYes);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].payload, "payload");
  EXPECT_EQ(letters[0].key, m.key().text);
  EXPECT_EQ(letters[0].fingerprint, m.fingerprint()) << "its record's: an unlock looks for it";
  ASSERT_TRUE(records().unlock(m.key().id).value());
  EXPECT_EQ(payloads(take()), Payloads{"payload"});
}

TEST_P(HeldSuite, ADeadMessageWhoseRowIsGoneIsKeptAsItsRecordHasIt) {
  append({held_message("k", "payload")});
  const RowTag old = *take().at(0).row;
  const Message m = message("k", "payload");
  Finish again = test::retrying(acquire(m).lease, 0ms, &m);
  again.ack = old;
  ASSERT_EQ(finish(again), Applied::kYes);
  Finish die = test::dead(acquire(m).lease, nullptr);
  die.ack = old;
  ASSERT_EQ(finish(die), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
  const auto letters = all_dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].payload, "payload");
}

TEST_P(HeldSuite, ARetryInTheFarFutureWaits) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, milliseconds::max(), &m)), Applied::kYes);
  EXPECT_EQ(held().depth(consumer()).value().rows, 1U);
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(is<Waiting>(claim(m)));
}

TEST_P(HeldSuite, WhatIsForgottenTakesOnlyItsOwnRow) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 5s, &m)), Applied::kYes);
  append({held_message("k", "another payload")});
  ASSERT_TRUE(records().forget(m.key().id).value());
  EXPECT_EQ(payloads(take()), Payloads{"another payload"});
}

TEST_P(HeldSuite, AParkedRowGoesWhereAnotherCopyIsHeldForItsRecord) {
  append({held_message("k", "payload")});
  const Message m = message("k", "payload");
  Finish park = test::parked(acquire(m).lease, &m);
  park.ack = take().at(0).row;
  ASSERT_EQ(finish(park), Applied::kYes);
  // A person takes it and says nothing; then a copy from the queue is first.
  ASSERT_TRUE(records().seize(m.key().id, kLease).value().has_value());
  advance(kPastLease);
  append({held_message("k", "payload")});
  Finish again = test::retrying(acquire(m).lease, 0ms, &m);
  again.ack = take().at(0).row;
  ASSERT_EQ(finish(again), Applied::kYes);
  EXPECT_EQ(take().size(), 1U);
  // No record names the parked one any more: the check at the end of a test looks for such rows.
}

}  // namespace
}  // namespace semel::conformance
