// A producer and a topic of SNS, with a queue that subscribes to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include <semel/producer.h>

#include "tests/support/moto_server.h"

namespace semel::test {
namespace {

SnsTopic topic_at(const MotoServer& server, const std::string& arn) {
  SnsTopic made;
  made.arn = arn;
  made.endpoint = server.url({});
  made.access_key_id = "AKID";
  made.secret_access_key = "hunter2";
  return made;
}

OutgoingMessage a_notice(int number) {
  OutgoingMessage notice;
  notice.payload = fmt::format(R"({{"notice":{}}})", number);
  return notice;
}

TEST(ProducerOnSns, EachSubscriberGetsWhatIsConfirmedUnderItsKey) {
  const MotoServer& server = MotoServer::shared();
  const std::string topic = server.new_topic();
  const std::string queues[] = {server.new_subscriber(topic), server.new_subscriber(topic)};
  Producer producer(topic_at(server, topic));
  std::vector<OutgoingMessage> notices;
  for (int i = 0; i < 40; ++i) notices.push_back(a_notice(i));
  const auto results = producer.send(notices);
  for (const SendResult& sent : results) ASSERT_TRUE(sent) << sent.error().message;
  for (const std::string& queue : queues) {
    std::set<std::string> keys;
    for (const auto& post : server.take_all(queue)) keys.insert(post.header("Idempotency-Key"));
    EXPECT_EQ(keys.size(), notices.size());
    for (const SendResult& sent : results) EXPECT_EQ(keys.count(sent->key), 1U);
  }
}

TEST(ProducerOnSns, ATopicThatIsNotThereIsAFinalError) {
  const MotoServer& server = MotoServer::shared();
  Producer producer(topic_at(server, MotoServer::arn_of("none")),
                    {.time_limit = std::chrono::seconds(60)});
  const SendResult sent = producer.send(a_notice(1));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(sent.error().reason, "handler.sns.topic") << sent.error().message;
}

TEST(ProducerOnSns, AnArnThatIsNoneIsSaid) {
  try {
    SnsTopic to;
    to.arn = "orders";
    Producer producer(std::move(to));
    FAIL();
  } catch (const SemelError& error) {
    EXPECT_EQ(error.error().code, "R255");
  }
}

}  // namespace
}  // namespace semel::test
