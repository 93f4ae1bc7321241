// A topic's retention against the ttl of the records, as a run and semel doctor find it; and what
// semel status shows of the source.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/days_later.h"
#include "tests/cli/kafka_test_bed.h"

namespace semel::test {
namespace {

constexpr const char* kWeek = "604800000";
constexpr const char* kFortyDays = "3456000000";

KafkaTestBed::Options kept_for(const std::string& retention, const std::string& ttl,
                               const std::string& more = {}) {
  KafkaTestBed::Options options;
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
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(),
                   kept_for(kWeek, "2h", "    retry: { max_elapsed: 1h }\n"));
  bed.produce(3);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[D102]"), 1U) << ran.err;
  EXPECT_NE(ran.err.find("kept for 2h"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("retention.ms=604800000 plus segment.ms=604800000 (14d)"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("ttl: 14d"), std::string::npos) << ran.err;
  EXPECT_EQ(bed.sum(), 0) << "before anything is handled";
  EXPECT_EQ(bed.server().committed(bed.group(), bed.topic(), 0), -1);
  const Ran doctor = bed.semel({"doctor"});
  EXPECT_EQ(doctor.code, 1) << doctor.out;
  EXPECT_EQ(line_of_d102(doctor.out).find("[fail] D102"), 0U) << doctor.out;
  const Ran mended = bed.semel({"run", "--once", "-q", "--set", "consumers[0].dedup.ttl=14d"});
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(bed.sum(), bed.produced_sum());
}

TEST(KafkaRetentionOfARun, ATtlOfRetentionMsAloneIsTooShort) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), kept_for(kWeek, "7d"));
  bed.produce(3);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_EQ(count_of(ran.err, "error[D102]"), 1U) << ran.err;
  EXPECT_EQ(bed.sum(), 0);
}

TEST(KafkaRetentionOfARun, ATtlThatIsAcceptedRuns) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(),
                   kept_for(kWeek, "2h", "    retry: { max_elapsed: 1h }\n    accept: [D102]\n"));
  bed.produce(3);
  const Ran ran = bed.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err.find("D102"), std::string::npos) << ran.err;
  const Ran doctor = bed.semel({"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out;
  EXPECT_EQ(line_of_d102(doctor.out).find("[note] D102"), 0U) << doctor.out;
}

TEST(KafkaRetentionOfARun, AutoIsEnoughForTwiceAWeekAndWarnsOfWhatIsKeptLonger) {
  const KafkaTestBed week(DatabaseKind::kSqlite, KafkaServer::shared(), kept_for(kWeek, "auto"));
  week.semel({"store", "init"});
  const Ran fine = week.semel({"doctor"});
  EXPECT_EQ(fine.code, 0) << fine.out;
  EXPECT_EQ(line_of_d102(fine.out).find("[ok  ] D102"), 0U) << fine.out;
  EXPECT_NE(line_of_d102(fine.out).find("records are kept for 28d"), std::string::npos);
  EXPECT_NE(line_of_d102(fine.out).find("has its offsets for 7d"), std::string::npos)
      << "the broker's offsets.retention.minutes: " << fine.out;

  KafkaTestBed long_kept(DatabaseKind::kSqlite, KafkaServer::shared(),
                         kept_for(kFortyDays, "auto"));
  long_kept.produce(3);
  const Ran ran = long_kept.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of(ran.err, "warning[D102]"), 1U) << ran.err;
  EXPECT_NE(ran.err.find("28d (ttl: auto)"), std::string::npos) << ran.err;
  EXPECT_EQ(long_kept.sum(), long_kept.produced_sum());
  EXPECT_EQ(long_kept.semel({"doctor"}).code, 1);
}

TEST(KafkaRetentionOfARun, ACompactedTopicIsKeptForEverAndSoMustItsRecords) {
  KafkaTestBed::Options options = kept_for(kWeek, "400d");
  options.topic = {{"cleanup.policy", "compact"}};
  const KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), options);
  bed.semel({"store", "init"});
  const Ran bad = bed.semel({"doctor"});
  EXPECT_EQ(bad.code, 1) << bad.out;
  EXPECT_NE(bad.out.find("cleanup.policy=compact (for ever)"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("ttl: keep"), std::string::npos) << bad.out;
  const Ran fine = bed.semel({"doctor", "--set", "consumers[0].dedup.ttl=keep"});
  EXPECT_EQ(fine.code, 0) << fine.out;
}

TEST(KafkaRetentionOfARun, WithoutTheRightToAskItIsNotKnownAndNotFine) {
  KafkaTestBed::Options options = kept_for(kFortyDays, "auto");
  options.brokers = KafkaServer::shared().login_brokers();
  options.properties =
      "security.protocol: sasl_plaintext, sasl.mechanism: PLAIN, sasl.username: stranger, "
      "sasl.password: right";
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), options);
  bed.server().let_read("stranger", bed.topic(), bed.group());
  bed.produce(3);
  const Ran ran = bed.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.sum(), bed.produced_sum());
  EXPECT_NE(ran.err.find("is not known"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("DESCRIBE_CONFIGS"), std::string::npos) << ran.err;
  const Ran doctor = bed.semel({"doctor"});
  EXPECT_EQ(line_of_d102(doctor.out).find("[note] D102"), 0U) << doctor.out;
  EXPECT_EQ(doctor.code, 0) << doctor.out;
}

constexpr std::size_t kAgedPayments = 20;

KafkaTestBed::Options timed_by(const std::string& whom) {
  KafkaTestBed::Options options = kept_for(kWeek, "auto");
  options.topic.emplace_back("message.timestamp.type", whom);
  return options;
}

TEST(KafkaAgeGate, DiscardsHandlesOrParksWhatWasHandledAndForgotten) {
  const KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), timed_by("LogAppendTime"));
  bed.server().produce_values(bed.topic(), some_payments(kAgedPayments));
  expect_age_gate({.config = bed.config(),
                   .count = kAgedPayments,
                   .in_time = 20,
                   .too_old = 60,
                   .come_again = [&] { bed.server().reset_offsets(bed.group(), bed.topic(), 1); },
                   .effects = [&] { return bed.number("SELECT count(*) FROM effect"); },
                   .nothing_left = [&] { return bed.all_committed(); }});
}

// A producer may write any time, and so hide how old its message is, or send a new one as an old.
TEST(KafkaAgeGate, BelievesNoProducersTime) {
  const KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), timed_by("CreateTime"));
  bed.server().produce_values(bed.topic(), some_payments(kAgedPayments));
  const Ran ran = days_later(60, {"run", "--once", "-o", "json", "-q", "-c", bed.config()});
  EXPECT_EQ(json_at(ran.out, "/effects"), std::to_string(kAgedPayments)) << ran.out << ran.err;
}

TEST(KafkaFigures, StatusShowsLagAndOffsetsOfARun) {
  KafkaTestBed bed(DatabaseKind::kSqlite, KafkaServer::shared(), {.partitions = 2});
  bed.produce(90);
  EXPECT_EQ(bed.figure("lag"), std::nullopt) << "nobody runs";
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return bed.figure("lag") == 0 && bed.all_committed(); }));
  EXPECT_TRUE(comes_true([&] { return bed.figure("rebalances") == 1; }));
  EXPECT_TRUE(comes_true([&] { return bed.figure("partitions") == 2; }));
  const std::string line =
      fmt::format("payments: kafka in process {}: lag 0, partitions 2, rebalances 1", runner.pid());
  EXPECT_TRUE(comes_true([&] { return bed.semel({"status"}).out.find(line) != std::string::npos; }))
      << bed.semel({"status"}).out;
  bed.semel({"consumers", "pause", "payments"});
  ASSERT_TRUE(tells(runner, "paused")) << runner.err();
  bed.produce(600);
  // Paused partitions are still fetched, up to the queues' limits, so the broker's end is known.
  EXPECT_TRUE(comes_true([&] { return bed.figure("lag") == 800; }))
      << bed.figure("lag").value_or(-1);
  bed.semel({"consumers", "resume", "payments"});
  EXPECT_TRUE(comes_true([&] { return bed.figure("lag") == 0; }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  bed.expect_each_once();
}

}  // namespace
}  // namespace semel::test
