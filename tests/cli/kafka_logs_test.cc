// A topic that is deleted, or deleted and created anew, under a run; and the offsets of a group
// where nothing was a message.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>

#include "tests/cli/kafka_test_bed.h"

namespace semel::test {
namespace {

bool all_is_done(const KafkaTestBed& bed) {
  return comes_true([&] { return bed.sum() == bed.produced_sum() && bed.all_committed(); });
}

void expect_to_end_at_its_signal(Program& runner) {
  runner.signal(SIGTERM);
  const Ran ran = runner.wait(std::chrono::seconds(30));
  EXPECT_EQ(ran.code, 0) << ran.err;
}

// A run whose topic was deleted once all of it was done.
class KafkaTopicOfARun : public ::testing::Test {
 protected:
  void SetUp() override {
    bed_.produce(60);
    runner_.emplace(Words{"run", bed_.config()});
    ASSERT_TRUE(all_is_done(bed_)) << runner_->err();
    bed_.server().delete_topic(bed_.topic());
    EXPECT_TRUE(tells(*runner_, "is not there any more"));
  }

  KafkaTestBed bed_{DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 2}};
  std::optional<Program> runner_;
};

TEST_F(KafkaTopicOfARun, ATopicThatIsDeletedIsToldAndWaitedFor) {
  bed_.server().make_topic(bed_.topic(), 2);
  bed_.produce(60);
  EXPECT_TRUE(all_is_done(bed_)) << runner_->err();
  expect_to_end_at_its_signal(*runner_);
  bed_.expect_each_once();
}

TEST_F(KafkaTopicOfARun, TheSignalIsHeardWhileTheTopicIsGone) {
  expect_to_end_at_its_signal(*runner_);
}

class KafkaNewLog : public ::testing::TestWithParam<bool> {};

// Longer than the old one was read: librdkafka alone would go on at the old position.
TEST_P(KafkaNewLog, IsReadFromItsBeginningThoughItReachesTheOldPosition) {
  const bool stopped = GetParam();
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 1});
  bed.produce(500);
  Program runner({"run", bed.config()});
  ASSERT_TRUE(all_is_done(bed)) << runner.err();
  // One that stands still sees nothing of it; one that runs may see the topic missing.
  if (stopped) runner.signal(SIGSTOP);
  bed.server().delete_topic(bed.topic());
  bed.server().make_topic(bed.topic(), 1);
  bed.produce(2'000);
  if (stopped) runner.signal(SIGCONT);
  EXPECT_TRUE(all_is_done(bed)) << runner.err();
  expect_to_end_at_its_signal(runner);
  bed.expect_each_once();
}

INSTANTIATE_TEST_SUITE_P(Members, KafkaNewLog, ::testing::Bool(), [](const auto& info) {
  return info.param ? "thatStandsStill" : "thatRuns";
});

TEST(KafkaLogsOfARun, WhatComesBetweenTwoRunsFromLatestIsNotSkipped) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 2});
  const auto run_once = [&] {
    return bed.semel(
        {"run", "--once", "-o", "json", "-q", "--set", "consumers[0].source.kafka.from=latest"});
  };
  const Ran first = run_once();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(json_at(first.out, "/deliveries"), "0") << first.out;
  EXPECT_TRUE(bed.server().committed(bed.group(), bed.topic(), 1) == 0);
  bed.produce(30);
  const Ran second = run_once();
  EXPECT_EQ(second.code, 0) << second.err;
  bed.expect_each_once();
}

TEST(KafkaLogsOfARun, WhatAnAddedPartitionHasBeforeTheRunKnowsOfItIsNotSkipped) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(),
                   {.partitions = 1, .properties = "topic.metadata.refresh.interval.ms: 1000"});
  Program runner({"run", bed.config(), "--set", "consumers[0].source.kafka.from=latest"});
  ASSERT_TRUE(comes_true([&] { return bed.server().committed(bed.group(), bed.topic(), 0) == 0; }));
  // Meanwhile it cannot look at the topic.
  runner.signal(SIGSTOP);
  bed.add_partitions(3);
  bed.produce(60);
  runner.signal(SIGCONT);
  EXPECT_TRUE(all_is_done(bed)) << runner.err();
  EXPECT_TRUE(tells(runner, "-2: the group has offsets in other partitions")) << runner.err();
  expect_to_end_at_its_signal(runner);
  bed.expect_each_once();
}

TEST(KafkaLogsOfARun, ADryRunLeavesTheGroupWithoutAnOffset) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 1});
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const Ran dry =
      bed.semel({"run", "--dry-run", "-q", "--set", "consumers[0].source.kafka.from=latest"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(bed.server().committed(bed.group(), bed.topic(), 0), -1);
}

}  // namespace
}  // namespace semel::test
