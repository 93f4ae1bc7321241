// Faults that no real broker produces on demand, by librdkafka's built-in mock cluster.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "handlers/kafka/make_kafka_publisher.h"
#include "tests/support/publish_calls.h"

namespace semel::kafka {
namespace {

constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kInitProducerId = 22;

class MockCluster {
 public:
  MockCluster() {
    std::array<char, 512> why{};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", why.data(), why.size());
    owner_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
    cluster_ = rd_kafka_mock_cluster_new(owner_, 1);
  }
  ~MockCluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;

  auto publisher() const {
    core::KafkaPublishSpec spec;
    spec.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
    spec.topic = "orders";
    return make_kafka_publisher(spec);
  }
  void answer(std::int16_t request, rd_kafka_resp_err_t first, rd_kafka_resp_err_t second) {
    rd_kafka_mock_push_request_errors(cluster_, request, 2, first, second);
  }

 private:
  rd_kafka_t* owner_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

TEST(KafkaPublisherEnds, AProducerThatCannotGoOnIsMadeAnew) {
  MockCluster cluster;
  // The first producer may fail before the first call, which then makes the second producer.
  cluster.answer(kInitProducerId, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                 RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
  auto handler = cluster.publisher();
  ASSERT_TRUE(handler) << handler.error().message;
  test::ToldGate gate;
  const Verdict first = test::publish(*handler, gate, test::keyed_message("k-1"))->verdict();
  EXPECT_EQ(first.kind(), Verdict::Kind::kRetry);
  EXPECT_EQ(first.code(), "handler.kafka.denied") << first.reason();
  EXPECT_FALSE(first.counted());
  EXPECT_EQ(gate.shuts().size(), 1U);
  // The next calls find the failed first producer, or a new one.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < end) {
    const Verdict next = test::publish(*handler, gate, test::keyed_message("k-2"))->verdict();
    if (next.kind() == Verdict::Kind::kDone) return;
    ASSERT_EQ(next.kind(), Verdict::Kind::kRetry) << next.reason();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "no producer is made anew";
}

TEST(KafkaPublisherDoubt, ARefusedRepeatOfWhatMayBeKeptIsNotSentUnderAnotherProducer) {
  MockCluster cluster;
  cluster.answer(kProduce, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                 RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  auto handler = cluster.publisher();
  ASSERT_TRUE(handler) << handler.error().message;
  test::ToldGate gate;
  const Verdict verdict = test::publish(*handler, gate, test::keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Verdict::Kind::kRetry) << verdict.reason();
  EXPECT_EQ(verdict.code(), "handler.kafka.too_large") << "both answers were given";
  EXPECT_TRUE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
}

// As where another record of its batch is too large.
TEST(KafkaPublisherDoubt, WhatIsRefusedAtFirstIsSentAlone) {
  MockCluster cluster;
  cluster.answer(kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_NO_ERROR);
  auto handler = cluster.publisher();
  ASSERT_TRUE(handler) << handler.error().message;
  test::ToldGate gate;
  const Verdict verdict = test::publish(*handler, gate, test::keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Verdict::Kind::kDone) << verdict.reason();
}

}  // namespace
}  // namespace semel::kafka
