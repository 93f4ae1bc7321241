// SQS joins the source suite, on a real server of its API; plus tests of features that only SQS
// has.
#include <fmt/format.h>

#include <map>
#include <set>
#include <thread>
#include <utility>

#include "sources/sqs/make_sqs_source.h"
#include "tests/conformance/sqs_consumer.h"
#include "tests/support/elasticmq_server.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using test::ElasticmqServer;

class SqsPlace final : public SourcePlace {
 public:
  explicit SqsPlace(bool fifo) : fifo_(fifo) {
    const auto& server = ElasticmqServer::shared();
    queue_ = fifo ? server.new_fifo_queue() : server.new_queue();
  }
  ~SqsPlace() override { ElasticmqServer::shared().delete_queue(queue_); }

  void add(const std::vector<Bytes>& payloads) override {
    std::vector<ElasticmqServer::Post> posts;
    for (const Bytes& payload : payloads) {
      posts.push_back({.body = payload});
      if (!fifo_) continue;
      // A group whose messages are received gives no more before they are deleted.
      posts.back().group = fmt::format("group-{}", next_);
      posts.back().deduplication = fmt::format("copy-{}", next_++);
    }
    ElasticmqServer::shared().send(queue_, posts);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    auto spec = sqs_at(ElasticmqServer::shared().url(queue_));
    if (dies_) spec.visibility = 2s;
    auto source = sqs::make_sqs_source({std::move(spec), false, 0});
    EXPECT_TRUE(source->receive({0, 1}).has_value());
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }
  void expect_death() override { dies_ = true; }

 private:
  const bool fifo_;
  bool dies_ = false;
  std::string queue_;
  std::size_t next_ = 0;
};

SourceCase sqs_case(bool fifo) {
  return {.name = fifo ? "sqs_fifo" : "sqs_standard",
          .make = [fifo] { return std::unique_ptr<SourcePlace>(new SqsPlace(fifo)); },
          .ordered = false,
          .bytes = false};
}

INSTANTIATE_TEST_SUITE_P(Sqs, SourceSuite, testing::Values(sqs_case(false), sqs_case(true)),
                         testing::PrintToStringParamName());

std::string sqs_queue_of(std::size_t messages) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < messages; ++i) bodies.push_back(fmt::format("{{\"n\":{}}}", i));
  server.send_bodies(queue, bodies);
  return queue;
}

TEST(SqsSource, ThePrefetchIsTheMostThatIsReceived) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = sqs_queue_of(10);
  auto spec = sqs_at(server.url(queue));
  spec.prefetch = 4;
  SqsConsumer consumer(spec);
  const auto first = consumer.receive(4);
  ASSERT_EQ(first.size(), 4U);
  EXPECT_TRUE(consumer.receive(1, 300ms).empty());
  EXPECT_EQ(server.ready(queue), 6) << "they wait at the server";
  consumer.settle(first);
  EXPECT_EQ(consumer.receive(4).size(), 4U);
}

// As `run --once` sees it: what is settled and not yet deleted keeps a place, and more comes
// behind.
TEST(SqsSource, TheEndIsNotToldWhileMessagesAreLeft) {
  constexpr std::size_t kMessages = 600;
  const auto& server = ElasticmqServer::shared();
  auto spec = sqs_at(server.url(sqs_queue_of(kMessages)));
  spec.prefetch = 20;
  const auto source = sqs::make_sqs_source({spec, false, 0});
  std::size_t seen = 0;
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = source->receive({});
    std::vector<Settlement> settlements;
    for (const Arrival& arrival : received->arrivals) {
      settlements.push_back({arrival.tag, Settlement::Kind::kAck, 0ms});
    }
    seen += settlements.size();
    // Another look between the two, as an engine with many workers has it.
    const auto idle = source->receive({.messages = 0});
    EXPECT_TRUE(source->settle(settlements).has_value());
    EXPECT_TRUE(source->receive({.messages = 0}).has_value());
    return received->at_end && settlements.empty() && idle->at_end;
  }));
  EXPECT_EQ(seen, kMessages);
}

// Its record was durable before: nothing is lost when this process dies now.
TEST(SqsSource, WhatIsAckedIsDeletedWhileOthersAreOpen) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = sqs_queue_of(25);
  SqsConsumer consumer(sqs_at(server.url(queue)));
  auto arrivals = consumer.receive(25);
  ASSERT_EQ(arrivals.size(), 25U);
  consumer.settle({arrivals.begin() + 1, arrivals.end()});
  EXPECT_TRUE(test::comes_true([&] { return server.in_flight(queue) == 1; }));
  consumer.settle({arrivals[0]});
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.in_flight(queue) + server.ready(queue), 0);
}

// Without renewals each would be there again after its five seconds.
TEST(SqsSource, WhatIsOpenStaysHiddenHoweverLongItTakes) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = sqs_queue_of(15);
  SqsConsumer consumer(sqs_at(server.url(queue), 5s));
  const auto arrivals = consumer.receive(15);
  ASSERT_EQ(arrivals.size(), 15U);
  const std::string clock = sqs_queue_of(1);
  // The same server shows when twice that time is over.
  ASSERT_FALSE(server.take_one(clock, 11).empty());
  bool over = false;
  while (!over) {
    ASSERT_EQ(server.ready(queue), 0);
    std::this_thread::sleep_for(100ms);
    over = server.ready(clock) > 0;
  }
  consumer.settle(arrivals);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.in_flight(queue) + server.ready(queue), 0);
}

TEST(SqsSource, AGroupIsNeverInFlightTwice) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_fifo_queue();
  std::vector<ElasticmqServer::Post> posts;
  for (int i = 0; i < 40; ++i) {
    posts.push_back({.body = fmt::format("{}", i),
                     .group = fmt::format("g-{}", i % 2),
                     .deduplication = fmt::format("d-{}", i)});
  }
  server.send(queue, posts);
  SqsConsumer one(sqs_at(server.url(queue)));
  SqsConsumer other(sqs_at(server.url(queue)));
  std::map<std::string, int> last;
  std::map<std::string, SqsConsumer*> holder;
  std::size_t seen = 0;
  const auto take = [&](SqsConsumer& consumer) {
    const auto arrivals = consumer.receive(10, 50ms);
    std::set<std::string> groups;
    for (const Arrival& arrival : arrivals) {
      const std::string group(find_header(arrival.headers, "sqs-message-group-id").value());
      EXPECT_EQ(arrival.broker_key, "d-" + arrival.payload);
      groups.insert(group);
      const int number = std::stoi(arrival.payload);
      EXPECT_TRUE(!last.contains(group) || last[group] < number) << "its order";
      last[group] = number;
    }
    seen += arrivals.size();
    for (const std::string& group : groups) {
      EXPECT_TRUE(holder[group] == nullptr || holder[group] == &consumer) << group;
      holder[group] = &consumer;
    }
    return arrivals;
  };
  ASSERT_TRUE(test::comes_true([&] {
    const auto mine = take(one);
    const auto others = take(other);
    one.settle(mine);
    other.settle(others);
    holder.clear();
    // A deleted message is out of every hand before the next look.
    return test::comes_true([&] { return server.in_flight(queue) == 0 || seen < 40; }) &&
           seen == 40;
  }));
}

// Two events may have equal bodies: what the service makes of them is no key.
TEST(SqsSource, AnIdThatTheServiceMakesOfTheBodyIsNoKey) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = ElasticmqServer::unused_name() + ".fifo";
  server.make_queue(queue, {{"FifoQueue", "true"}, {"ContentBasedDeduplication", "true"}});
  server.send(queue, {{.body = "by content", .group = "g"},
                      {.body = "by its producer", .group = "g", .deduplication = "d-1"}});
  SqsConsumer consumer(sqs_at(server.url(queue)));
  std::map<std::string, std::optional<Bytes>> keys;
  for (const Arrival& arrival : consumer.receive(2)) keys[arrival.payload] = arrival.broker_key;
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_FALSE(keys["by content"].has_value());
  EXPECT_EQ(keys["by its producer"], "d-1");
}

TEST(SqsSource, AQueueThatIsNotThereIsSaid) {
  const auto& server = ElasticmqServer::shared();
  const Error error = SqsConsumer(sqs_at(server.url(ElasticmqServer::unused_name()))).first_error();
  EXPECT_EQ(error.code, "R394");
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
}

TEST(SqsSource, ALookTellsWhatTheQueueSaysOfItself) {
  const auto& server = ElasticmqServer::shared();
  const std::string dead = server.new_queue();
  const std::string arn = "arn:aws:sqs:elasticmq:000000000000:" + dead;
  const std::string queue = server.new_queue(
      {{"RedrivePolicy",
        fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":"3"}})", arn)}});
  server.send_bodies(queue, {"a", "b"});
  const auto facts = sqs::look_at_queue(sqs_at(server.url(queue)));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->ready, 2);
  ASSERT_TRUE(facts->redrive.has_value());
  EXPECT_EQ(facts->redrive->most_receives, 3);
  EXPECT_EQ(facts->redrive->target, arn);

  // And a run is told, of the policy and of a message that is near its end.
  for (int i = 0; i < 2; ++i) {
    ASSERT_FALSE(server.take_one(queue, 0).empty());
    ASSERT_FALSE(server.take_one(queue, 0).empty());
  }
  SqsConsumer consumer(sqs_at(server.url(queue)));
  std::string said;
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = consumer.source().receive({});
    for (const std::string& notice : received->notices) said += notice + '\n';
    return said.find("D122") != std::string::npos &&
           said.find("was received 3 times") != std::string::npos;
  })) << said;
}

}  // namespace
}  // namespace semel::conformance
