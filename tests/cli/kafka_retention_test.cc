// What a topic keeps, against the ttl of the records, as a run and semel doctor find it; and what
// semel status shows of the source.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/kafka_scene.h"

namespace semel::test {
namespace {

constexpr const char* kWeek = "604800000";
constexpr const char* kThirtyDays = "2592000000";

KafkaScene::Options kept_for(const std::string& retention, const std::string& ttl,
                             const std::string& more = {}) {
  KafkaScene::Options options;
  options.partitions = 1;
  options.topic = {{"retention.ms", retention}};
  options.more = fmt::format("    dedup: {{ ttl: {} }}\n{}", ttl, more);
  return options;
}

std::string line_of_d102(const std::string& out) {
  const auto code = out.find("D102");
  if (code == std::string::npos) return {};
  const auto begin = out.rfind('\n', code) + 1;
  return out.substr(begin, out.find('\n', code) - begin);
}

TEST(KafkaRetentionOfARun, ATtlThatSomebodyWroteTooShortRefusesToRun) {
  KafkaScene scene(Ground::kSqlite, KafkaServer::shared(),
                   kept_for(kWeek, "2h", "    retry: { max_elapsed: 1h }\n"));
  scene.produce(3);
  const Ran ran = scene.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[D102]"), 1U) << ran.err;
  EXPECT_NE(ran.err.find("kept for 2h"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("retention.ms=604800000 (7d)"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("ttl: 7d"), std::string::npos) << ran.err;
  EXPECT_EQ(scene.sum(), 0) << "before anything is handled";
  EXPECT_EQ(scene.server().committed(scene.group(), scene.topic(), 0), -1);
  const Ran doctor = scene.semel({"doctor"});
  EXPECT_EQ(doctor.code, 1) << doctor.out;
  EXPECT_EQ(line_of_d102(doctor.out).find("[fail] D102"), 0U) << doctor.out;
  const Ran mended = scene.semel({"run", "--once", "-q", "--set", "consumers[0].dedup.ttl=7d"});
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(scene.sum(), scene.produced_sum());
}

TEST(KafkaRetentionOfARun, ATtlThatIsAcceptedRuns) {
  KafkaScene scene(Ground::kSqlite, KafkaServer::shared(),
                   kept_for(kWeek, "2h", "    retry: { max_elapsed: 1h }\n    accept: [D102]\n"));
  scene.produce(3);
  const Ran ran = scene.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err.find("D102"), std::string::npos) << ran.err;
  const Ran doctor = scene.semel({"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out;
  EXPECT_EQ(line_of_d102(doctor.out).find("[note] D102"), 0U) << doctor.out;
}

TEST(KafkaRetentionOfARun, AutoIsEnoughForAWeekAndWarnsOfWhatIsKeptLonger) {
  const KafkaScene week(Ground::kSqlite, KafkaServer::shared(), kept_for(kWeek, "auto"));
  week.semel({"store", "init"});
  const Ran fine = week.semel({"doctor"});
  EXPECT_EQ(fine.code, 0) << fine.out;
  EXPECT_EQ(line_of_d102(fine.out).find("[ok  ] D102"), 0U) << fine.out;
  EXPECT_NE(line_of_d102(fine.out).find("records are kept for 14d"), std::string::npos);
  EXPECT_NE(line_of_d102(fine.out).find("has its offsets for 7d"), std::string::npos)
      << "the broker's offsets.retention.minutes: " << fine.out;

  KafkaScene long_kept(Ground::kSqlite, KafkaServer::shared(), kept_for(kThirtyDays, "auto"));
  long_kept.produce(3);
  const Ran ran = long_kept.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of(ran.err, "warning[D102]"), 1U) << ran.err;
  EXPECT_NE(ran.err.find("14d (ttl: auto)"), std::string::npos) << ran.err;
  EXPECT_EQ(long_kept.sum(), long_kept.produced_sum());
  EXPECT_EQ(long_kept.semel({"doctor"}).code, 1);
}

TEST(KafkaRetentionOfARun, ACompactedTopicIsKeptForEverAndSoMustItsRecords) {
  KafkaScene::Options options = kept_for(kWeek, "400d");
  options.topic = {{"cleanup.policy", "compact"}};
  const KafkaScene scene(Ground::kSqlite, KafkaServer::shared(), options);
  scene.semel({"store", "init"});
  const Ran bad = scene.semel({"doctor"});
  EXPECT_EQ(bad.code, 1) << bad.out;
  EXPECT_NE(bad.out.find("cleanup.policy=compact (for ever)"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("ttl: keep"), std::string::npos) << bad.out;
  const Ran fine = scene.semel({"doctor", "--set", "consumers[0].dedup.ttl=keep"});
  EXPECT_EQ(fine.code, 0) << fine.out;
}

TEST(KafkaRetentionOfARun, WithoutTheRightToAskItIsNotKnownAndNotFine) {
  KafkaScene::Options options = kept_for(kThirtyDays, "auto");
  options.brokers = KafkaServer::shared().login_brokers();
  options.properties =
      "security.protocol: sasl_plaintext, sasl.mechanism: PLAIN, sasl.username: stranger, "
      "sasl.password: right";
  KafkaScene scene(Ground::kSqlite, KafkaServer::shared(), options);
  scene.server().let_read("stranger", scene.topic(), scene.group());
  scene.produce(3);
  const Ran ran = scene.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(scene.sum(), scene.produced_sum());
  EXPECT_NE(ran.err.find("is not known"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("DESCRIBE_CONFIGS"), std::string::npos) << ran.err;
  const Ran doctor = scene.semel({"doctor"});
  EXPECT_EQ(line_of_d102(doctor.out).find("[note] D102"), 0U) << doctor.out;
  EXPECT_EQ(doctor.code, 0) << doctor.out;
}

TEST(KafkaFigures, StatusShowsLagAndOffsetsOfARun) {
  KafkaScene scene(Ground::kSqlite, KafkaServer::shared(), {.partitions = 2});
  scene.produce(90);
  EXPECT_EQ(scene.figure("lag"), std::nullopt) << "nobody runs";
  Program runner({"run", scene.config()});
  EXPECT_TRUE(comes_true([&] { return scene.figure("lag") == 0 && scene.all_committed(); }));
  EXPECT_TRUE(comes_true([&] { return scene.figure("rebalances") == 1; }));
  EXPECT_TRUE(comes_true([&] { return scene.figure("partitions") == 2; }));
  const std::string line =
      fmt::format("payments: kafka in process {}: lag 0, partitions 2, rebalances 1", runner.pid());
  EXPECT_TRUE(comes_true([&] {
    return scene.semel({"status"}).out.find(line) != std::string::npos;
  })) << scene.semel({"status"}).out;
  scene.semel({"consumers", "pause", "payments"});
  ASSERT_TRUE(tells(runner, "paused")) << runner.err();
  scene.produce(600);
  // What is paused is still fetched, up to the queues' limits, so the broker's end is known.
  EXPECT_TRUE(comes_true([&] { return scene.figure("lag") == 800; }))
      << scene.figure("lag").value_or(-1);
  scene.semel({"consumers", "resume", "payments"});
  EXPECT_TRUE(comes_true([&] { return scene.figure("lag") == 0; }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  scene.expect_each_once();
}

}  // namespace
}  // namespace semel::test
