// A topic of dead letters: a copy of each that leaves by the outbox.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <string>

#include "tests/cli/kafka_test_bed.h"
#include "tests/support/kafka_records.h"

namespace semel::test {
namespace {

constexpr int kDead = 20;

std::string grave(const std::string& brokers, const std::string& topic) {
  return fmt::format(
      "    dead_letter: {{ copy_to: graves }}\n"
      "  - name: graves\n"
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    strategy: natural\n"
      "    retry: {{ attempts: 0, backoff: 100ms..1s, max_elapsed: 0s, crashes: 100 }}\n"
      "    handler: {{ kafka: {{ brokers: \"{}\", topic: {} }} }}\n",
      brokers, topic);
}

// Payments that have no amount, and the first one has no key.
void produce_dead(const KafkaTestBed& bed, int first = 0, int count = kDead) {
  std::vector<std::string> values;
  for (int i = first; i < first + count; ++i) {
    values.push_back(i == 0 ? R"({"account":1,"amount":1})"
                            : fmt::format(R"({{"id":"dead-{}"}})", i));
  }
  bed.server().produce_values(bed.topic(), values);
}

std::set<std::string> keys_of(const std::vector<KafkaServer::Record>& records) {
  std::set<std::string> keys;
  for (const auto& record : records) keys.insert(header_of(record, "Idempotency-Key"));
  return keys;
}

class KafkaDeadLetters : public ::testing::TestWithParam<DatabaseKind> {};

TEST_P(KafkaDeadLetters, ACopyOfEachIsInItsTopic) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic(1, {});
  KafkaTestBed bed(GetParam(), server, {.others = grave(server.brokers(), topic)});
  bed.produce(100);
  produce_dead(bed);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  bed.expect_each_once();
  const auto records = records_of(server, topic);
  ASSERT_EQ(records.size(), static_cast<std::size_t>(kDead));
  EXPECT_EQ(keys_of(records).size(), static_cast<std::size_t>(kDead));
  const auto one = std::ranges::find_if(
      records, [](const auto& record) { return header_of(record, "Idempotency-Key") == "dead-7"; });
  ASSERT_NE(one, records.end());
  EXPECT_EQ(one->value, R"({"id":"dead-7"})");
  EXPECT_EQ(header_of(*one, "semel-consumer"), "payments");
  EXPECT_EQ(header_of(*one, "semel-reason"), "payload.invalid");
  EXPECT_NE(header_of(*one, "semel-error").find("amount"), std::string::npos);
  EXPECT_EQ(header_of(*one, "semel-source").find(bed.topic()), 0U);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), std::to_string(kDead));
  // A message given up stays so: it leaves no second copy. One without a key has no record, and
  // leaves one under the same key.
  server.reset_offsets(bed.group(), bed.topic(), 3);
  const Ran again = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(again.code, 0) << again.err;
  bed.expect_each_once();
  const auto later = records_of(server, topic);
  EXPECT_EQ(later.size(), records.size() + 1);
  EXPECT_EQ(keys_of(later), keys_of(records));
}

TEST_P(KafkaDeadLetters, HoweverOftenTheRunIsKilledNoneIsMissing) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic(1, {});
  KafkaTestBed bed(GetParam(), server,
                   {.properties = "session.timeout.ms: 1500, heartbeat.interval.ms: 300",
                    .others = grave(server.brokers(), topic)});
  constexpr int kKills = 5;
  const auto dead = [&] {
    return bed.semel({"dlq", "list", "-o", "json"}).out.find("dead-") != std::string::npos;
  };
  for (int i = 0; i < kKills; ++i) {
    const auto before = bed.sum();
    bed.produce(100);
    produce_dead(bed, i * kDead / kKills, kDead / kKills);
    Program runner({"run", bed.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return bed.sum() > before && dead(); })) << runner.err();
    runner.signal(SIGKILL);
    EXPECT_EQ(runner.wait().signal, SIGKILL) << "the fault must have fired";
  }
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  bed.expect_each_once();
  const auto keys = keys_of(records_of(server, topic));
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kDead));
  EXPECT_FALSE(keys.contains("(none)")) << "each has its key";
}

INSTANTIATE_TEST_SUITE_P(Stores, KafkaDeadLetters,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

}  // namespace
}  // namespace semel::test
