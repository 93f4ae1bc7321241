// RecordInspector: an operator's view of records and acts on them. And Positions.
#include <algorithm>
#include <string>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

using test::make_message;

constexpr RecordState kAllStates[] = {RecordState::kConsuming, RecordState::kCompleted,
                                      RecordState::kRetrying, RecordState::kParked,
                                      RecordState::kDead};

TEST_P(RecordsSuite, AConsumerIsFoundByName) {
  EXPECT_EQ(records().consumer("payments").value(), consumer());
  EXPECT_FALSE(records().consumer("nobody").value().has_value());
}

TEST_P(RecordsSuite, ShowTellsEachState) {
  for (const RecordState state : kAllStates) {
    SCOPED_TRACE(to_string(state));
    const Message m = message(to_string(state));
    bring_to(m, state);
    const auto view = records().show(m.key().id).value();
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->state, state);
    EXPECT_EQ(view->consumer, consumer());
    EXPECT_EQ(view->id, m.key().id);
    EXPECT_EQ(view->fingerprint, m.fingerprint());
    EXPECT_EQ(view->lease_until.has_value(), state == RecordState::kConsuming);
    EXPECT_EQ(view->next_at.has_value(), state == RecordState::kRetrying);
    EXPECT_EQ(view->completed_at.has_value(), state == RecordState::kCompleted);
    if (state == RecordState::kCompleted) continue;
    EXPECT_EQ(view->key, m.key().text);
    EXPECT_EQ(view->attempt, 1);
    ASSERT_TRUE(view->first_seen.has_value());
    if (state == RecordState::kConsuming) {
      EXPECT_GT(*view->lease_until, *view->first_seen);
      EXPECT_LE(*view->lease_until - *view->first_seen, kLease + 5s);
      EXPECT_NE(view->token, 0U);
    } else {
      EXPECT_FALSE(view->reason.empty());
    }
  }
  EXPECT_FALSE(records().show(message("never").key().id).value().has_value());
}

TEST_P(RecordsSuite, ShowTellsTheResult) {
  const Message m = message("k");
  complete(m, "the answer");
  EXPECT_EQ(records().show(m.key().id).value()->result, "the answer");
}

TEST_P(RecordsSuite, ShowTellsOfATryThatEndedInTheDark) {
  const Message m = message("k");
  acquire(m);
  EXPECT_FALSE(records().show(m.key().id).value()->outcome_unknown);
  advance(kPastLease);
  acquire(m);
  EXPECT_TRUE(records().show(m.key().id).value()->outcome_unknown);
  EXPECT_EQ(records().show(m.key().id).value()->attempt, 2);
}

TEST_P(RecordsSuite, ListTellsUnfinishedOnesOldestKeyFirst) {
  std::vector<Bytes> keys;
  for (std::size_t i = 0; i < 8; ++i) {
    keys.push_back(test::ulid(1000 + i));
    bring_to(message(keys.back()), i % 2 == 0 ? RecordState::kConsuming : RecordState::kRetrying);
    advance(10ms);
  }
  bring_to(message(test::ulid(2000)), RecordState::kCompleted);
  const ConsumerNumber other = attach("refunds");
  bring_to(make_message(other, "theirs"), RecordState::kRetrying);

  const auto list = records().list(consumer(), {}, 100).value();
  std::vector<Bytes> listed;
  for (const RecordView& view : list) listed.push_back(view.key);
  EXPECT_EQ(listed, keys);
  EXPECT_EQ(records().list(consumer(), RecordState::kRetrying, 100).value().size(), 4U);
  EXPECT_EQ(records().list(other, {}, 100).value().size(), 1U);
  EXPECT_EQ(records().list({}, {}, 100).value().size(), 9U);
  const auto first = records().list(consumer(), {}, 3).value();
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].key, keys[0]);
  EXPECT_EQ(first[2].key, keys[2]);
}

TEST_P(RecordsSuite, ListTellsClosedOnesByState) {
  bring_to(message("parked"), RecordState::kParked);
  bring_to(message("dead"), RecordState::kDead);
  const auto parked = records().list(consumer(), RecordState::kParked, 10).value();
  ASSERT_EQ(parked.size(), 1U);
  EXPECT_EQ(parked[0].key, "parked");
  const auto dead = records().list(consumer(), RecordState::kDead, 10).value();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].key, "dead");
}

TEST_P(RecordsSuite, AForgottenKeyIsNew) {
  for (const RecordState state : kAllStates) {
    if (state == RecordState::kConsuming) continue;
    SCOPED_TRACE(to_string(state));
    const Message m = message(to_string(state));
    bring_to(m, state);
    EXPECT_TRUE(records().forget(m.key().id).value());
    EXPECT_FALSE(records().show(m.key().id).value().has_value());
    EXPECT_FALSE(records().forget(m.key().id).value()) << "there was one, once";
    EXPECT_EQ(acquire(m).attempt, 1);
  }
  EXPECT_FALSE(records().forget(message("never").key().id).value());
}

TEST_P(RecordsSuite, ForgetTakesWhatIsHeldForTheKey) {
  if (!has(Facet::kHeld)) GTEST_SKIP() << "declared: it holds no messages";
  const Message m = message("k");
  const Message neighbour = message("neighbour");
  bring_to(m, RecordState::kRetrying);
  bring_to(neighbour, RecordState::kRetrying);
  ASSERT_TRUE(records().forget(m.key().id).value());
  EXPECT_EQ(held().depth(consumer()).value().rows, 1U);
  advance(1min);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].key, "neighbour");
}

TEST_P(RecordsSuite, ForgetIsRefusedUnderALiveLease) {
  const Message m = message("k");
  const Lease lease = acquire(m).lease;
  const auto refused = records().forget(m.key().id);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kBlocked);
  EXPECT_EQ(renew(lease), Applied::kYes) << "nothing changed";
  advance(kPastLease);
  EXPECT_TRUE(records().forget(m.key().id).value());
  EXPECT_EQ(finish(test::completed(lease)), Applied::kLeaseLost);
  EXPECT_EQ(acquire(m).attempt, 1);
}

TEST_P(RecordsSuite, UnlockOpensParkedAndDeadOnly) {
  for (const RecordState state : kAllStates) {
    SCOPED_TRACE(to_string(state));
    const Message m = message(to_string(state), "payload");
    bring_to(m, state);
    const bool opens = state == RecordState::kParked || state == RecordState::kDead;
    EXPECT_EQ(records().unlock(m.key().id).value(), opens);
    if (!opens) {
      EXPECT_EQ(records().show(m.key().id).value()->state, state);
      continue;
    }
    EXPECT_EQ(records().show(m.key().id).value()->state, RecordState::kRetrying);
    EXPECT_FALSE(records().unlock(m.key().id).value()) << "compare-and-set";
    if (has(Facet::kHeld)) {
      EXPECT_EQ(payloads(take()), Payloads{"payload"}) << "it comes back by itself";
    }
    EXPECT_TRUE(is<Acquired>(claim(m)));
  }
  EXPECT_FALSE(records().unlock(message("never").key().id).value());
}

TEST_P(RecordsSuite, ASeizedRecordEndsAsAPersonSays) {
  using To = Finish::To;
  for (const To to : {To::kCompleted, To::kRetrying, To::kDead}) {
    const Message m = message("k" + std::to_string(static_cast<int>(to)), "payload");
    bring_to(m, RecordState::kParked);
    const auto lease = records().seize(m.key().id, kLease).value();
    ASSERT_TRUE(lease.has_value());
    EXPECT_EQ(records().show(m.key().id).value()->state, RecordState::kConsuming);
    EXPECT_TRUE(is<Busy>(claim(m))) << "nobody runs it while a person decides";
    Finish said;
    said.to = to;
    said.lease = *lease;
    if (to != To::kCompleted) said.reason = "operator";
    ASSERT_EQ(finish(said), Applied::kYes);
    EXPECT_EQ(finish(said), Applied::kLeaseLost) << "said once";
    if (has(Facet::kHeld)) {
      EXPECT_EQ(payloads(take()), to == To::kRetrying ? Payloads{"payload"} : Payloads{})
          << "it comes back by itself";
    }
    if (to == To::kCompleted) {
      EXPECT_TRUE(is<Completed>(claim(m)));
    } else if (to == To::kDead) {
      EXPECT_TRUE(is<Closed>(claim(m)));
      if (!has(Facet::kDeadLetters)) continue;
      ASSERT_EQ(all_dead_letters().size(), 1U);
      EXPECT_EQ(all_dead_letters().front().payload, "payload");
    } else {
      const auto again = claim(m);
      ASSERT_TRUE(is<Acquired>(again));
      EXPECT_FALSE(std::get<Acquired>(again).taken_over) << "a person knows that nothing happened";
    }
  }
}

TEST_P(RecordsSuite, OnlyWhatNobodyWorksOnIsSeized) {
  for (const RecordState state : kAllStates) {
    SCOPED_TRACE(to_string(state));
    const Message m = message(to_string(state));
    bring_to(m, state);
    EXPECT_EQ(records().seize(m.key().id, kLease).value().has_value(),
              state == RecordState::kParked);
  }
  EXPECT_FALSE(records().seize(message("never").key().id, kLease).value().has_value());
  const Message left = message("left");
  acquire(left);
  advance(kPastLease);
  EXPECT_TRUE(records().seize(left.key().id, kLease).value().has_value()) << "its lease is over";
  advance(kPastLease);
  const auto after = claim(left);
  ASSERT_TRUE(is<Acquired>(after)) << "who seized it said nothing";
  EXPECT_TRUE(std::get<Acquired>(after).taken_over) << "as dark as before";
}

TEST_P(RecordsSuite, LeasesThatEndedWithoutAnOutcomeAreCounted) {
  const auto stuck = [&]() -> std::optional<std::size_t> {
    const auto backlog = records().backlog().value();
    if (!backlog.records_counted) return std::nullopt;
    const auto mine = std::ranges::find(backlog.consumers, "payments", &StoreStats::Consumer::name);
    return mine->stuck;
  };
  const Message left = message("left"), taken = message("taken"), retried = message("retried");
  acquire(left);
  acquire(taken);
  ASSERT_EQ(finish(test::retrying(acquire(retried).lease, 1s, nullptr)), Applied::kYes);
  if (!stuck()) GTEST_SKIP() << "it would have to read all of its names";
  EXPECT_EQ(stuck(), 0U) << "both are being worked on";
  advance(kPastLease);
  EXPECT_EQ(stuck(), 2U);
  acquire(taken);
  EXPECT_EQ(stuck(), 1U) << "somebody works on it again";
  ASSERT_EQ(finish(test::completed(acquire(left).lease)), Applied::kYes);
  EXPECT_EQ(stuck(), 0U);
}

TEST_P(RecordsSuite, StatsCount) {
  const ConsumerNumber other = attach("refunds", 1h);
  int number = 0;
  const auto bring = [&](RecordState state, int count) {
    for (int i = 0; i < count; ++i) bring_to(message("k" + std::to_string(++number)), state);
  };
  bring(RecordState::kConsuming, 1);
  bring(RecordState::kRetrying, 2);
  bring(RecordState::kParked, 3);
  bring(RecordState::kDead, 4);
  bring(RecordState::kCompleted, 5);
  complete(make_message(other, "theirs"));
  if (has(Facet::kHeld)) append({held_message("appended")});
  const std::size_t held_rows = has(Facet::kHeld) ? 3 : 0;  // two retries and the appended one
  const std::size_t letters = has(Facet::kDeadLetters) ? 4 : 0;
  const auto stats = records().stats().value();
  const auto mine = std::ranges::find(stats.consumers, "payments", &StoreStats::Consumer::name);
  ASSERT_NE(mine, stats.consumers.end());
  EXPECT_EQ(mine->number, consumer());
  EXPECT_EQ(mine->consuming, 1U);
  EXPECT_EQ(mine->retrying, 2U);
  EXPECT_EQ(mine->parked, 3U);
  EXPECT_EQ(mine->dead, 4U);
  EXPECT_EQ(mine->dead_letters, letters);
  EXPECT_EQ(mine->held, held_rows);
  ASSERT_TRUE(mine->oldest_waiting && mine->last_change);
  EXPECT_LE(*mine->oldest_waiting, *mine->last_change);
  const auto theirs = std::ranges::find(stats.consumers, "refunds", &StoreStats::Consumer::name);
  ASSERT_NE(theirs, stats.consumers.end());
  EXPECT_EQ(theirs->number, other);
  EXPECT_EQ(theirs->consuming + theirs->retrying + theirs->parked + theirs->dead, 0U);
  std::size_t completed = 0;
  for (const StoreStats::Generation& generation : stats.generations) {
    completed += generation.records;
  }
  EXPECT_EQ(completed, 6U);
  const auto backlog = records().backlog().value();
  EXPECT_TRUE(backlog.generations.empty());
  const auto unfinished =
      std::ranges::find(backlog.consumers, "payments", &StoreStats::Consumer::name);
  ASSERT_NE(unfinished, backlog.consumers.end());
  EXPECT_EQ(unfinished->number, consumer());
  EXPECT_EQ(unfinished->held, held_rows);
  EXPECT_EQ(unfinished->dead_letters, letters);
  if (!backlog.records_counted) return;
  EXPECT_EQ(unfinished->consuming, 1U);
  EXPECT_EQ(unfinished->retrying, 2U);
  EXPECT_EQ(unfinished->parked, 3U);
  EXPECT_EQ(unfinished->dead, 4U);
}

TEST_P(PositionsSuite, APositionIsKeptPerConsumerAndPartition) {
  const ConsumerNumber other = attach("refunds");
  const Bytes position("\0 12:34 \xff", 9);
  EXPECT_FALSE(positions().load(consumer(), "a.jsonl").value().has_value());
  ASSERT_TRUE(positions().save(consumer(), "a.jsonl", "first").has_value());
  ASSERT_TRUE(positions().save(consumer(), "a.jsonl", position).has_value());
  ASSERT_TRUE(positions().save(consumer(), "b.jsonl", "").has_value());
  reopen();
  EXPECT_EQ(positions().load(consumer(), "a.jsonl").value(), position);
  ASSERT_TRUE(positions().load(consumer(), "b.jsonl").value().has_value());
  EXPECT_EQ(*positions().load(consumer(), "b.jsonl").value(), "");
  EXPECT_FALSE(positions().load(other, "a.jsonl").value().has_value());
  EXPECT_FALSE(positions().load(consumer(), "A.jsonl").value().has_value());
}

TEST_P(PositionsSuite, AReservationIsExclusive) {
  auto first = positions().reserve(consumer(), "a.jsonl");
  ASSERT_TRUE(first.has_value());
  const auto second = positions().reserve(consumer(), "a.jsonl");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kBlocked);
  EXPECT_EQ(second.error().code, "R230");
  EXPECT_TRUE(positions().reserve(consumer(), "b.jsonl").has_value());
  EXPECT_TRUE(positions().reserve(attach("refunds"), "a.jsonl").has_value());
  first->reset();
  EXPECT_TRUE(positions().reserve(consumer(), "a.jsonl").has_value());
}

TEST_P(PositionsSuite, AReservationHoldsAgainstAnotherStore) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const auto other = place().open();
  auto mine = positions().reserve(consumer(), "a.jsonl");
  ASSERT_TRUE(mine.has_value());
  EXPECT_FALSE(other->facets().positions->reserve(consumer(), "a.jsonl").has_value());
  mine->reset();
  EXPECT_TRUE(other->facets().positions->reserve(consumer(), "a.jsonl").has_value());
}

}  // namespace
}  // namespace semel::conformance
