// Messages published to Kafka by the real program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/publish_bed.h"
#include "tests/support/kafka_records.h"

namespace semel::test {
namespace {

// `timeout`: what a broker took after it is published again.
std::string to_topic(const std::string& brokers, const std::string& topic,
                     const std::string& more = {}, const std::string& timeout = "60s") {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    timeout: {}\n"
      "    retry: {{ backoff: 50ms..500ms }}\n"
      "    handler: {{ kafka: {{ brokers: \"{}\", topic: {}, {} }} }}\n",
      timeout, brokers, topic, more);
}

// How often each id stands in the topic.
std::map<std::string, int> published_ids(const KafkaServer& server, const std::string& topic) {
  std::map<std::string, int> times;
  for (const auto& record : records_of(server, topic)) {
    ++times[header_of(record, "Idempotency-Key")];
  }
  return times;
}

TEST(KafkaPublishProgram, WhatIsQueuedStandsInTheTopicWithIdsAndHeaders) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  const TestBed bed(to_topic(server.brokers(), topic, "honours_key: true"));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("kafka " + topic), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("keyed_retry"), std::string::npos) << checked.out;
  send_ids(bed, 200, {"--header", "trace=7"});
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "200") << ran.out;
  const auto records = records_of(server, topic);
  ASSERT_EQ(records.size(), 200U);
  for (const auto& record : records) {
    EXPECT_EQ(header_of(record, "trace"), "7");
    EXPECT_EQ(header_of(record, "Idempotency-Key"), record.key);
  }
  EXPECT_EQ(published_ids(server, topic).size(), 200U);
}

TEST(KafkaPublishProgram, ABrokerThatIsAwayAtTheStartAndKilledInMidRunLosesNothing) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  const TestBed bed(to_topic(server.brokers(), topic, {}, "5s"));
  send_ids(bed, 3'000);
  server.kill();
  Program runner({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] {
    return runner.err().find("no Kafka broker took it") != std::string::npos;
  })) << runner.err();
  server.start();
  ASSERT_TRUE(comes_true([&] { return server.end_of(topic, 0) > 100; }));
  server.kill();
  server.start();
  EXPECT_TRUE(
      comes_true([&] { return server.end_of(topic, 0) >= 3'000; }, std::chrono::seconds(90)))
      << runner.err();
  EXPECT_TRUE(comes_true([&] { return all_completed(bed, 3'000); }))
      << bed.semel({"status", "-o", "json"}).out;
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const auto times = published_ids(server, topic);
  EXPECT_EQ(times.size(), 3'000U) << "each with its id, however often";
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/dead_letters/0/id"),
            "(absent)");
}

TEST(KafkaPublishProgram, OneThatIsTooLargeIsADeadLetterAmongGoodOnes) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic(1, {{"max.message.bytes", "20000"}});
  const TestBed bed(to_topic(server.brokers(), topic));
  send_ids(bed, 30);
  const std::string large =
      fmt::format("{{\"id\":\"large\",\"x\":\"{}\"}}", std::string(50'000, 'x'));
  ASSERT_EQ(bed.semel({"send", "payments", "-"}, {.input = large + "\n"}).code, 0);
  const Ran ran = bed.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(json_at(ran.out, "/effects"), "30") << ran.out << ran.err;
  EXPECT_EQ(published_ids(server, topic).size(), 30U);
  const Ran letters = bed.semel({"dlq", "list"});
  EXPECT_NE(letters.out.find("handler.kafka.too_large"), std::string::npos) << letters.out;
}

TEST(KafkaPublishProgram, ADrainWaitsForReports) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  const TestBed bed(to_topic(server.brokers(), topic, "properties: { linger.ms: 500 }"));
  send_ids(bed, 2'000);
  Program runner({"run", bed.config(), "-q"});
  ASSERT_TRUE(comes_true([&] { return server.end_of(topic, 0) > 0; }));
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  const Ran rest = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  const auto times = published_ids(server, topic);
  EXPECT_EQ(times.size(), 2'000U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
}

// The reader of the topic has effects once, although its writer is killed time and again.
TEST(KafkaPublishProgram, AChainMakesEachEffectOnceThoughItsWriterIsKilled) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  const TestBed writer(to_topic(server.brokers(), topic, "honours_key: true"));
  constexpr std::size_t kEach = 2'000;
  std::int64_t messages = 0;
  std::int64_t stood = 0;
  std::int64_t doubled = 0;
  for (int kills = 0; kills < 3 || doubled == 0; ++kills) {
    send_ids(writer, kEach, {}, static_cast<std::size_t>(messages));
    messages += kEach;
    Program runner({"run", writer.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return server.end_of(topic, 0) > stood + 50; }))
        << "no kill of " << kills << " came between report and record";
    runner.signal(SIGKILL);
    runner.wait();
    stood = server.end_of(topic, 0);
    // Twice in the topic already, or about to be.
    doubled = stood - (messages - writer.number("SELECT count(*) FROM semel_held"));
  }
  EXPECT_EQ(writer.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_GE(server.end_of(topic, 0), messages + doubled);
  const TestBed reader(fmt::format(
      "    source: {{ kafka: {{ brokers: \"{}\", group: {}-g, topics: [{}] }} }}\n"
      "    key: header:Idempotency-Key\n"
      "    handler:\n      sql:\n"
      "        params: {{ account: json:/account, amount: json:/amount }}\n"
      "        statements:\n"
      "          - UPDATE account SET balance = balance + :amount WHERE id = :account\n",
      server.brokers(), topic, topic));
  const Ran ran = reader.semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), std::to_string(messages)) << ran.out;
  EXPECT_EQ(reader.number("SELECT sum(balance) FROM account"), messages);
}

}  // namespace
}  // namespace semel::test
