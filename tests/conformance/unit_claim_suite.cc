// TransactionalStore: claims, endings and one commit for all of it.
#include <algorithm>
#include <random>
#include <string>

#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {
namespace {

using test::make_messages;
using test::pointers;

TEST_P(UnitSuite, ClaimStatementsAndFinishCommitTogether) {
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 3));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(is<Acquired>(batch.claims[i])) << describe(batch.claims[i]);
    EXPECT_EQ(std::get<Acquired>(batch.claims[i]).attempt, 1);
    EXPECT_FALSE(std::get<Acquired>(batch.claims[i]).had_record);
    EXPECT_EQ(batch.lease(i).key, batch.messages[i].key().id);
    batch.unit->run(i, effect("e" + std::to_string(i)));
  }
  const FlushReport report = flushed(batch);
  EXPECT_TRUE(report.failed.empty());
  EXPECT_TRUE(report.missed.empty());
  finish_all(batch);
  EXPECT_EQ(effects(), 0) << "not before the commit";
  commit(batch);
  EXPECT_EQ(effects(), 3);
  batch.unit.reset();
  reopen();
  for (const Message& m : batch.messages) EXPECT_TRUE(is<Completed>(claim(m)));
  EXPECT_EQ(effects(), 3);
}

TEST_P(UnitSuite, WhatIsNotCommittedNeverWas) {
  for (const bool finished : {false, true}) {
    SCOPED_TRACE(finished);
    Batch batch = claim_in_unit(make_messages(consumer(), "m-", 3));
    for (std::size_t i = 0; i < 3; ++i) batch.unit->run(i, effect("e"));
    flushed(batch);
    if (finished) finish_all(batch);
    batch.unit.reset();
    EXPECT_EQ(effects(), 0);
    EXPECT_FALSE(records().show(batch.messages[0].key().id).value().has_value());
  }
  Batch again = claim_in_unit(make_messages(consumer(), "m-", 3));
  for (const Claim& answer : again.claims) {
    ASSERT_TRUE(is<Acquired>(answer)) << describe(answer);
    EXPECT_EQ(std::get<Acquired>(answer).attempt, 1);
    EXPECT_FALSE(std::get<Acquired>(answer).taken_over);
  }
}

TEST_P(UnitSuite, AUnitsClaimAnswersForEveryState) {
  std::vector<Message> messages;
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kCompleted, RecordState::kRetrying,
        RecordState::kParked, RecordState::kDead}) {
    messages.push_back(message(to_string(state), "one"));
    bring_to(messages.back(), state);
  }
  const std::size_t states = messages.size();
  for (std::size_t i = 0; i < states; ++i) {
    messages.push_back(message(messages[i].key().text, "two"));
  }
  messages.push_back(message("new"));
  // The same key twice is not for one call.
  Batch batch = claim_in_unit({messages.begin(), messages.begin() + 5});
  EXPECT_TRUE(is<Busy>(batch.claims[0])) << describe(batch.claims[0]);
  EXPECT_TRUE(is<Completed>(batch.claims[1])) << describe(batch.claims[1]);
  EXPECT_TRUE(is<Waiting>(batch.claims[2])) << describe(batch.claims[2]);
  EXPECT_TRUE(is<Closed>(batch.claims[3])) << describe(batch.claims[3]);
  EXPECT_TRUE(is<Closed>(batch.claims[4])) << describe(batch.claims[4]);
  finish_all(batch);
  commit(batch);
  batch = claim_in_unit({messages.begin() + 5, messages.end()});
  for (std::size_t i = 0; i < states; ++i) {
    EXPECT_TRUE(is<Conflict>(batch.claims[i])) << i << ": " << describe(batch.claims[i]);
  }
  EXPECT_TRUE(is<Acquired>(batch.claims[5])) << describe(batch.claims[5]);
  batch.unit.reset();
  EXPECT_TRUE(is<Busy>(claim(messages[0]))) << "nothing changed";
  EXPECT_TRUE(is<Waiting>(claim(messages[2])));
}

TEST_P(UnitSuite, AUnitsClaimOfWhatNobodyHoldsLeavesItToItsSource) {
  const Message retried = message("retried"), parked = message("parked");
  ASSERT_EQ(finish(test::retrying(acquire(retried).lease, 30s, nullptr)), Applied::kYes);
  ASSERT_EQ(finish(test::parked(acquire(parked).lease, nullptr)), Applied::kYes);
  Batch batch = claim_in_unit({retried, parked});
  EXPECT_TRUE(is<Busy>(batch.claims[0])) << describe(batch.claims[0]);
  ASSERT_TRUE(is<Closed>(batch.claims[1])) << describe(batch.claims[1]);
  EXPECT_FALSE(std::get<Closed>(batch.claims[1]).held);
  batch.unit.reset();
  advance(31s);
  batch = claim_in_unit({retried});
  ASSERT_TRUE(is<Acquired>(batch.claims[0])) << describe(batch.claims[0]);
  EXPECT_EQ(std::get<Acquired>(batch.claims[0]).attempt, 2);
}

TEST_P(UnitSuite, ADueRetryAndAnEndedLeaseAreAcquired) {
  const Message retried = message("retried");
  const Message abandoned = message("abandoned");
  bring_to(retried, RecordState::kRetrying);
  acquire(abandoned);
  advance(kPastLease);
  Batch batch = claim_in_unit({retried, abandoned});
  ASSERT_TRUE(is<Acquired>(batch.claims[0])) << describe(batch.claims[0]);
  EXPECT_EQ(std::get<Acquired>(batch.claims[0]).attempt, 2);
  EXPECT_FALSE(std::get<Acquired>(batch.claims[0]).taken_over);
  ASSERT_TRUE(is<Acquired>(batch.claims[1])) << describe(batch.claims[1]);
  EXPECT_EQ(std::get<Acquired>(batch.claims[1]).attempt, 2);
  EXPECT_TRUE(std::get<Acquired>(batch.claims[1]).taken_over);
  EXPECT_TRUE(std::get<Acquired>(batch.claims[0]).had_record);
  EXPECT_TRUE(std::get<Acquired>(batch.claims[1]).had_record);
  EXPECT_FALSE(std::get<Acquired>(batch.claims[0]).lease_ended);
  EXPECT_TRUE(std::get<Acquired>(batch.claims[1]).lease_ended);
  finish_all(batch);
  commit(batch);
  EXPECT_TRUE(is<Completed>(claim(retried)));
  EXPECT_TRUE(is<Completed>(claim(abandoned)));
}

TEST_P(UnitSuite, AttemptsAreCountedOverUnits) {
  const Message m = message("k");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    Batch batch = claim_in_unit({m});
    ASSERT_TRUE(is<Acquired>(batch.claims[0])) << describe(batch.claims[0]);
    EXPECT_EQ(std::get<Acquired>(batch.claims[0]).attempt, attempt);
    const Finish again = test::retrying(batch.lease(0), 5s, &m);
    ASSERT_EQ(batch.unit->finish({&again, 1}).value().at(0), Applied::kYes);
    commit(batch);
    batch.unit.reset();
    EXPECT_TRUE(is<Waiting>(claim(m)));
    advance(6s);
  }
  EXPECT_GE(take().size(), 1U) << "each said to hold it; a store may keep one for all";
}

TEST_P(UnitSuite, ResultsAreKeptAndTold) {
  Batch batch = claim_in_unit({message("k")});
  const Finish done = test::completed(batch.lease(0), "the answer");
  ASSERT_TRUE(batch.unit->finish({&done, 1}).has_value());
  commit(batch);
  batch.unit.reset();
  UnitOptions options;
  options.want_result = true;
  batch = claim_in_unit({message("k")}, options);
  ASSERT_TRUE(is<Completed>(batch.claims[0]));
  EXPECT_EQ(std::get<Completed>(batch.claims[0]).result, "the answer");
}

TEST_P(UnitSuite, EveryEndingIsInTheCommit) {
  append({held_message("acked"), held_message("k0")});
  const auto rows = take();
  const auto play = [&](bool committed) {
    Batch batch = claim_in_unit(make_messages(consumer(), "k", 5));
    Finish done = test::completed(batch.lease(0));
    done.ack = rows[1].row;
    Finish letter;
    letter.to = Finish::To::kDead;
    const Message conflicting = message("elsewhere", "another");
    letter.keep = &conflicting;
    letter.reason = "key.conflict";
    const std::vector<Finish> endings = {done,
                                         test::retrying(batch.lease(1), 30s, &batch.messages[1]),
                                         test::parked(batch.lease(2), &batch.messages[2]),
                                         test::dead(batch.lease(3), &batch.messages[3]),
                                         test::not_started(batch.lease(4)),
                                         letter,
                                         test::ack_only(*rows[0].row)};
    const auto applied = batch.unit->finish(endings);
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    ASSERT_EQ(applied->size(), endings.size());
    EXPECT_EQ(std::ranges::count(*applied, Applied::kYes), 7);
    if (committed) commit(batch);
  };
  play(false);
  EXPECT_EQ(held().depth(consumer()).value().rows, 2U) << "rolled back: nothing of it is there";
  EXPECT_TRUE(all_dead_letters().empty());
  EXPECT_TRUE(records().list(consumer(), {}, 10).value().empty());
  play(true);
  EXPECT_EQ(held().depth(consumer()).value().rows, 1U) << "the retry";
  EXPECT_EQ(all_dead_letters().size(), 2U);
  const auto messages = make_messages(consumer(), "k", 5);
  EXPECT_TRUE(is<Completed>(claim(messages[0])));
  EXPECT_TRUE(is<Waiting>(claim(messages[1])));
  EXPECT_TRUE(is<Closed>(claim(messages[2])));
  EXPECT_TRUE(is<Closed>(claim(messages[3])));
  EXPECT_EQ(acquire(messages[4]).attempt, 1);
}

TEST_P(UnitSuite, AnswersComeInTheOrderOfTheRequest) {
  std::vector<Message> messages = make_messages(consumer(), "m-", 1000);
  for (std::size_t i = 0; i < messages.size(); i += 7) complete(messages[i]);
  std::ranges::shuffle(messages, std::mt19937(11));  // NOLINT: one order, always the same
  Batch batch = claim_in_unit(messages);
  ASSERT_EQ(batch.claims.size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const int number = std::stoi(messages[i].key().text.substr(2));
    ASSERT_EQ(is<Completed>(batch.claims[i]), number % 7 == 0) << messages[i].key().text;
    if (!is<Acquired>(batch.claims[i])) continue;
    ASSERT_EQ(batch.lease(i).key, messages[i].key().id);
    batch.unit->run(i, effect(messages[i].key().text));
  }
  flushed(batch);
  finish_all(batch);
  commit(batch);
  EXPECT_EQ(effects(), 1000 - 143);
}

TEST_P(UnitSuite, UseOutOfOrderIsRefused) {
  const Message m = message("k");
  const Message* one = &m;
  const auto refused = [](const auto& result) {
    return !result.has_value() && result.error().kind == ErrorKind::kRejected;
  };
  auto unit = begin();
  EXPECT_TRUE(refused(unit->flush())) << "before the claim";
  unit.reset();
  unit = begin();
  EXPECT_TRUE(refused(unit->finish({}))) << "before the claim";
  unit.reset();
  unit = begin();
  EXPECT_TRUE(refused(unit->commit())) << "before the claim";
  unit.reset();
  unit = begin();
  ASSERT_TRUE(unit->claim({&one, 1}).has_value());
  EXPECT_TRUE(refused(unit->claim({&one, 1}))) << "twice";
  unit.reset();
  unit = begin();
  ASSERT_TRUE(unit->claim({&one, 1}).has_value());
  EXPECT_TRUE(refused(unit->commit())) << "claims without an end";
  unit.reset();
  unit = begin();
  const Finish done =
      test::completed(std::get<Acquired>(unit->claim({&one, 1}).value().at(0)).lease);
  ASSERT_TRUE(unit->finish({&done, 1}).has_value());
  EXPECT_TRUE(refused(unit->finish({&done, 1}))) << "twice";
  unit.reset();
  EXPECT_TRUE(is<Acquired>(claim(m))) << "none of these committed";
}

}  // namespace
}  // namespace semel::conformance
