// The Kafka handler while its broker stops and restarts.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <map>

#include "handlers/kafka/make_kafka_publisher.h"
#include "system/descriptor.h"
#include "tests/support/kafka_records.h"
#include "tests/support/publish_calls.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"
#include "tests/support/waiting.h"

namespace semel::kafka {
namespace {

using test::KafkaServer;
using test::keyed_message;
using test::publish;
using test::PublishCall;
using Kind = Verdict::Kind;

AsyncHandler publisher_of(const KafkaServer& server, const std::string& topic,
                          std::chrono::milliseconds timeout) {
  core::KafkaPublishSpec spec;
  spec.brokers = server.brokers();
  spec.topic = topic;
  spec.timeout = timeout;
  auto made = make_kafka_publisher(spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : AsyncHandler();
}

TEST(KafkaPublishFaults, ABrokerThatIsKilledInMidRunCostsNothingButTime) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  auto handler = publisher_of(server, topic, std::chrono::seconds(40));
  test::ToldGate gate;
  std::vector<std::unique_ptr<PublishCall>> calls;
  const auto begin_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      calls.push_back(publish(handler, gate, keyed_message(fmt::format("k-{}", calls.size()))));
    }
  };
  begin_some(200);
  EXPECT_EQ(calls.front()->verdict().kind(), Kind::kDone);
  begin_some(200);
  server.kill();
  begin_some(200);
  server.start();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    EXPECT_EQ(verdict.kind(), Kind::kDone) << i << ": " << verdict.reason();
  }
  std::map<std::string, int> times;
  for (const auto& record : test::records_of(server, topic)) ++times[record.key.value_or("")];
  EXPECT_EQ(times.size(), calls.size());
  // The producer survives and is idempotent: the broker has kept its sequence.
  for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key;
}

TEST(KafkaPublishFaults, WithoutABrokerACallEndsAtItsTimeoutAndCostsNoAttempt) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  server.kill();
  auto handler = publisher_of(server, topic, std::chrono::seconds(1));
  test::ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.kafka.connect") << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate.shuts().size(), 1U);
  // The same producer goes on.
  server.start();
  for (int i = 0;; ++i) {
    const Verdict next = publish(handler, gate, keyed_message("k"))->verdict();
    if (next.kind() == Kind::kDone) break;
    ASSERT_LT(i, 40) << next.reason();
  }
}

TEST(KafkaPublishFaults, AStoppedCallIsAnsweredAtOnceWithItsOutcomeUnknown) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  server.kill();
  auto handler = publisher_of(server, topic, std::chrono::seconds(60));
  test::ToldGate gate;
  auto call = publish(handler, gate, keyed_message("k"));
  call->stop.request_stop();
  const Verdict verdict = call->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_TRUE(verdict.unknown());
  EXPECT_EQ(verdict.code(), "handler.kafka.timeout");
  // A call whose attempt was stopped before it began.
  auto late = std::make_unique<PublishCall>(keyed_message("k-2"));
  late->stop.request_stop();
  late->attempt.stop = late->stop.get_token();
  handler(late->message, late->attempt,
          Completion([raw = late.get()](auto told) { raw->promise.set_value(std::move(told)); }));
  EXPECT_TRUE(late->verdict().unknown());
}

// Reading the certificate's file stands for anything that making a producer may wait for.
TEST(KafkaPublishFaults, OneThatIsBeingMadeKeepsNoCallWaiting) {
  const test::TlsIdentity identity;
  const test::TempDir folder;
  const std::string ca = folder.file("ca.pem");
  test::write_file(ca, identity.certificate());
  test::write_file(folder.file("broker.pem"), identity.private_key() + identity.certificate());
  KafkaServer::Listener listener{.port = test::free_port(), .protocol = "SSL"};
  listener.properties = {"ssl.keystore.type=PEM",
                         "ssl.keystore.location=" + folder.file("broker.pem")};
  KafkaServer server({.listener = listener});
  core::KafkaPublishSpec spec;
  spec.brokers = server.listener_brokers();
  spec.topic = server.new_topic(1, {{"max.message.bytes", "20000"}});
  spec.timeout = std::chrono::seconds(40);
  spec.properties = {{"security.protocol", "ssl"}, {"ssl.ca.location", ca}, {"linger.ms", "500"}};
  auto made = make_kafka_publisher(spec);
  ASSERT_TRUE(made) << made.error().message;
  test::ToldGate gate;
  EXPECT_EQ(publish(*made, gate, keyed_message("first"))->verdict().kind(), Kind::kDone);
  // The batch is refused, and each of its records gets a producer that sends it alone.
  ASSERT_EQ(::unlink(ca.c_str()), 0);
  ASSERT_EQ(::mkfifo(ca.c_str(), 0600), 0);
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (const std::size_t size : {1'500U, 50'000U, 1'500U}) {
    calls.push_back(publish(*made, gate, keyed_message("batch", std::string(size, 'x'))));
  }
  system::Descriptor reads;
  ASSERT_TRUE(test::comes_true([&] {
    reads = system::Descriptor(::open(ca.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return reads.valid();
  })) << "no producer is made";
  auto begun = std::async(std::launch::async, [&] {
    auto call = publish(*made, gate, keyed_message("meanwhile"));
    call->stop.request_stop();
    return call;
  });
  EXPECT_EQ(begun.wait_for(std::chrono::seconds(10)), std::future_status::ready)
      << "it waits for the new producer";
  const std::string pem = identity.certificate();
  EXPECT_EQ(::write(reads.get(), pem.data(), pem.size()), static_cast<ssize_t>(pem.size()));
  ASSERT_EQ(::unlink(ca.c_str()), 0);
  test::write_file(ca, pem);
  reads.close();
  EXPECT_EQ(calls[0]->verdict().kind(), Kind::kDone);
  EXPECT_EQ(calls[1]->verdict().code(), "handler.kafka.too_large");
  EXPECT_EQ(calls[2]->verdict().kind(), Kind::kDone);
  (void)begun.get()->answer();
}

TEST(KafkaPublishFaults, WhatHasNoReportAtTheEndIsDropped) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  server.kill();
  test::ToldGate gate;
  auto handler = publisher_of(server, topic, std::chrono::seconds(60));
  auto call = publish(handler, gate, keyed_message("k"));
  handler = nullptr;
  EXPECT_FALSE(call->answer());
}

}  // namespace
}  // namespace semel::kafka
