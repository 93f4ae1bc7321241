// TransactionalStore: flush, finish and commit as one.
#include <string>

#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {
namespace {

using test::make_messages;

TEST_P(UnitSuite, AtOnceEffectsAndRecordsCommitTogether) {
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 3));
  for (std::size_t i = 0; i < 3; ++i) batch.unit->run(i, effect("e" + std::to_string(i)));
  EXPECT_EQ(effects(), 0);
  const auto report = batch.unit->flush_and_commit(batch.completions());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->committed);
  EXPECT_EQ(effects(), 3);
  EXPECT_FALSE(batch.unit->commit().has_value()) << "it is over";
  batch.unit.reset();
  reopen();
  for (const Message& m : batch.messages) EXPECT_TRUE(is<Completed>(claim(m)));
}

TEST_P(UnitSuite, AtOnceEveryEndingIsInTheCommit) {
  const auto messages = make_messages(consumer(), "m-", 3);
  Batch batch = claim_in_unit(messages);
  for (std::size_t i = 0; i < 2; ++i) batch.unit->run(i, effect("e"));
  std::vector<Finish> finishes = batch.completions();
  finishes[1].result = "an answer";
  finishes[2] = test::retrying(batch.lease(2), 30s, &batch.messages[2]);
  const auto report = batch.unit->flush_and_commit(finishes);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->committed);
  EXPECT_EQ(effects(), 2);
  batch.unit.reset();
  ClaimOptions options;
  options.want_result = true;
  const Claim kept = claim(messages[1], options);
  ASSERT_TRUE(is<Completed>(kept)) << describe(kept);
  EXPECT_EQ(std::get<Completed>(kept).result, "an answer");
  EXPECT_EQ(records().show(messages[2].key().id).value()->state, RecordState::kRetrying);
}

TEST_P(UnitSuite, ARowThatItsRecordWaitsWithStaysWhereItsMessageOnlyMetThat) {
  const Message m = message("k", "payload");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 0ms, &m)), Applied::kYes);
  const RowTag row = *take().at(0).row;
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 2));
  std::vector<Finish> finishes = batch.completions();
  finishes.push_back(test::ack_only(row));
  ASSERT_TRUE(batch.unit->finish(finishes).has_value());
  commit(batch);
  EXPECT_EQ(payloads(take()), Payloads{"payload"}) << "it is the only copy of its message";
}

TEST_P(UnitSuite, AtOnceNothingIsCommittedWhereAClaimIsNotFinished) {
  const auto messages = make_messages(consumer(), "m-", 2);
  Batch batch = claim_in_unit(messages);
  for (std::size_t i = 0; i < 2; ++i) batch.unit->run(i, effect("e"));
  auto finishes = batch.completions();
  finishes.pop_back();
  const auto report = batch.unit->flush_and_commit(finishes);
  EXPECT_FALSE(report.has_value() && report->committed);
  batch.unit.reset();
  EXPECT_EQ(effects(), 0);
  for (const Message& m : messages) EXPECT_TRUE(is<Acquired>(claim(m)));
}

TEST_P(UnitStatementSuite, AtOnceABrokenStatementCommitsNothing) {
  UnitOptions sparse;
  sparse.savepoints = Savepoints::kSparse;
  for (const auto& options : {each(), sparse}) {
    Batch batch = five({2}, breaking(), options);
    const auto report = batch.unit->flush_and_commit(batch.completions());
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_FALSE(report->committed);
    EXPECT_EQ(effects(), 0);
    if (!report->all_undone) {
      ASSERT_EQ(report->failed.size(), 1U);
      EXPECT_EQ(report->failed[0].message, 2U);
      expect_neighbours(batch, {2});
      sql("DELETE FROM effect");
      continue;
    }
    EXPECT_FALSE(batch.unit->commit().has_value()) << "what is undone cannot be committed";
    batch.unit.reset();
    EXPECT_EQ(effects(), 0);
    for (const Message& m : batch.messages) {
      EXPECT_FALSE(records().show(m.key().id).value().has_value());
    }
  }
}

TEST_P(UnitStatementSuite, AtOnceAMissIsToldAndTheRestGoesOn) {
  RecordedStatement none = statement("UPDATE effect SET name = 'x' WHERE name = 'nobody'");
  none.expect_rows = 1;
  none.otherwise = {dead("gone"), false};
  Batch batch = five({2}, {none});
  const auto report = batch.unit->flush_and_commit(batch.completions());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->committed);
  ASSERT_FALSE(report->all_undone);
  ASSERT_EQ(report->missed.size(), 1U);
  EXPECT_EQ(report->missed[0].message, 2U);
  expect_neighbours(batch, {2});
}

TEST_P(UnitSuite, WhatLeavesCommitsWithTheWork) {
  const ConsumerNumber relay = attach("relay");
  const auto messages = test::make_messages(consumer(), "m-", 3);
  const auto leave = [&](std::vector<Finish>& finishes) {
    for (Finish& finish : finishes) finish.outgoing = {{relay, held_message("k", "out")}};
  };
  {
    Batch batch = claim_in_unit(messages);
    batch.unit->run(0, effect("rolled back"));
    ASSERT_FALSE(flushed(batch).all_undone);
    auto finishes = batch.completions();
    leave(finishes);
    ASSERT_TRUE(batch.unit->finish(finishes).has_value());
  }
  EXPECT_EQ(held().depth(relay).value().rows, 0U);
  Batch batch = claim_in_unit(messages);
  for (std::size_t i = 0; i < 3; ++i) batch.unit->run(i, effect("e"));
  auto finishes = batch.completions();
  leave(finishes);
  const auto report = batch.unit->flush_and_commit(finishes);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->committed);
  batch.unit.reset();
  EXPECT_EQ(effects(), 3);
  EXPECT_EQ(held().depth(relay).value().rows, 3U);
}

}  // namespace
}  // namespace semel::conformance
