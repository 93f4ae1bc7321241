// Kafka joins the source suite, on a real broker; plus tests of features that only Kafka has.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/conformance/kafka_member.h"

namespace semel::conformance {
namespace {

// Joins the group, and waits until its descriptor reports messages.
void wait_for_messages(Source& source) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  // By the group, and by what was fetched.
  for (int told = 0; std::chrono::steady_clock::now() < end;) {
    ASSERT_TRUE(source.receive({0, 1}).has_value());
    pollfd entry{source.wakeup().fd, POLLIN, 0};
    if (::poll(&entry, 1, 300) > 0) {
      ++told;
    } else if (told >= 2) {
      break;
    }
  }
}

class KafkaPlace final : public SourcePlace {
 public:
  void add(const std::vector<Bytes>& payloads) override {
    added_ = added_ || !payloads.empty();
    KafkaServer::shared().produce_values(topic_, payloads);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    auto source = opened_kafka(spec_of(topic_));
    if (source && added_) wait_for_messages(*source);
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }

 private:
  std::string topic_ = KafkaServer::shared().new_topic();
  bool added_ = false;
};

INSTANTIATE_TEST_SUITE_P(Kafka, SourceSuite,
                         testing::Values(SourceCase{
                             "kafka",
                             [] { return std::unique_ptr<SourcePlace>(new KafkaPlace()); }}),
                         testing::PrintToStringParamName());

TEST(KafkaSource, OffsetsAreCommittedUpToTheContiguousPrefixAlsoWhileItRuns) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = topic_with(10, 1);
  const auto spec = spec_of(topic);
  Member member(spec);
  const auto arrivals = member.receive(10);
  ASSERT_EQ(arrivals.size(), 10U);
  member.settle({arrivals[0], arrivals[1], arrivals[2], arrivals[5], arrivals[9]});
  EXPECT_TRUE(test::comes_true([&] { return server.committed(spec.group, topic, 0) >= 0; }));
  EXPECT_EQ(server.committed(spec.group, topic, 0), 3);
  member.settle({arrivals.begin() + 3, arrivals.begin() + 9});
  EXPECT_TRUE(member.source().close(60s).has_value());
  EXPECT_EQ(server.committed(spec.group, topic, 0), 10) << "closing tells what is settled";
}

TEST(KafkaSource, ARecordBringsKeyHeadersAndPlace) {
  const std::string topic = KafkaServer::shared().new_topic(2);
  KafkaServer::shared().produce(
      topic, {{.value = "{}",
               .key = "customer-1",
               .headers = {{"content-type", "application/json"}, {"ce_id", "7"}, {"x", ""}},
               .partition = 1}});
  Member member(spec_of(topic));
  const auto arrivals = member.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].broker_key, "customer-1");
  EXPECT_EQ(arrivals[0].content_type, "application/json");
  ASSERT_EQ(arrivals[0].headers.size(), 3U);
  EXPECT_EQ(arrivals[0].headers[1].value, "7");
  EXPECT_EQ(arrivals[0].partition, topic + "-1");
  EXPECT_EQ(arrivals[0].position, topic + "-1-0");
  EXPECT_FALSE(arrivals[0].broker_time.has_value()) << "the producer's clock is nobody's";
}

TEST(KafkaSource, ATopicWithAnAppendTimeSaysHowOldARecordIs) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic(1, {{"message.timestamp.type", "LogAppendTime"}});
  const auto before = std::chrono::system_clock::now();
  server.produce(topic, {{.value = "{}", .key = "a"}});
  Member member(spec_of(topic));
  const auto arrivals = member.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  ASSERT_TRUE(arrivals[0].broker_time.has_value());
  EXPECT_GE(*arrivals[0].broker_time, std::chrono::floor<std::chrono::milliseconds>(before));
}

class KafkaGroups : public testing::TestWithParam<const char*> {};

// A settlement after the partition went to another member has no effect.
TEST_P(KafkaGroups, ALateSettlementOfAPartitionThatIsGoneIsVoid) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = topic_with(20, 2);
  auto spec = spec_of(topic);
  spec.properties["partition.assignment.strategy"] = GetParam();
  Member first(spec);
  const auto taken = first.receive(20);
  ASSERT_EQ(taken.size(), 20U);
  Member second(spec);
  // The first one waits for its open messages, in vain, and both must look at their sources.
  std::vector<Arrival> again;
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (again.size() < 10 && std::chrono::steady_clock::now() < end) {
    std::ranges::move(second.receive(10 - again.size(), 20ms), std::back_inserter(again));
    (void)first.receive(1, 5ms);
  }
  ASSERT_EQ(again.size(), 10U) << "the second one has a partition, from its beginning";
  const int moved = again[0].partition.back() - '0';
  first.settle(taken);
  EXPECT_TRUE(first.source().close(60s).has_value());
  EXPECT_EQ(server.committed(spec.group, topic, moved), -1) << "settled by nobody who has it";
  second.settle(again);
  EXPECT_TRUE(second.source().close(60s).has_value());
  EXPECT_EQ(server.committed(spec.group, topic, moved), 10);
}

// Nothing is delivered again if everything was settled before a member joined.
TEST_P(KafkaGroups, WhatIsSettledBeforeARebalanceDoesNotComeAgain) {
  const std::string topic = topic_with(20, 2);
  auto spec = spec_of(topic);
  spec.properties["partition.assignment.strategy"] = GetParam();
  Member first(spec);
  first.settle(first.receive(20));
  Member second(spec);
  EXPECT_TRUE(test::comes_true([&] {
    EXPECT_TRUE(second.receive(1, 1ms).empty());
    EXPECT_TRUE(first.receive(1, 1ms).empty());
    return figure_of(first.source(), "partitions") == 1 &&
           figure_of(second.source(), "partitions") == 1;
  })) << "each has one";
  // The next message of each partition is the one that was produced last.
  KafkaServer::shared().produce(
      topic, {{.value = "mark", .partition = 0}, {.value = "mark", .partition = 1}});
  for (Member* member : {&first, &second}) {
    const auto next = member->receive(1);
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].payload, "mark");
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, KafkaGroups, testing::Values("range", "cooperative-sticky"),
                         [](const auto& info) {
                           return std::string(info.param) == "range" ? "range" : "cooperative";
                         });

TEST(KafkaSource, AMemberWithoutPartitionsSaysWhoMayHaveThem) {
  const std::string topic = topic_with(2, 1);
  const auto spec = spec_of(topic);
  Member first(spec);
  ASSERT_EQ(first.receive(2).size(), 2U);
  Member second(spec);
  std::vector<std::string> notices;
  const auto told = [&](Member& member) {
    auto received = member.source().receive({});
    EXPECT_TRUE(received.has_value());
    if (received) std::ranges::move(received->notices, std::back_inserter(notices));
    return !notices.empty();
  };
  EXPECT_TRUE(test::comes_true([&] {
    EXPECT_TRUE(first.receive(1, 1ms).empty());
    return told(second);
  }));
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(
      notices[0],
      "no partitions yet: other members of group " + spec.group +
          " may have them. One that was killed keeps them until session.timeout.ms (3000 ms) is "
          "over; with group.instance.id its successor has them at once");
  EXPECT_TRUE(first.source().close(60s).has_value());
  EXPECT_EQ(second.receive(2).size(), 2U) << "they come when the first has left";
  notices.clear();
  EXPECT_FALSE(told(second)) << notices[0];
}

// The source's own thread polls for it: a joining member is assigned its part, and settlements are
// committed.
TEST(KafkaSource, ItServesTheGroupThoughNobodyReceives) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = topic_with(20, 2);
  const auto spec = spec_of(topic);
  Member first(spec);
  first.settle(first.receive(20));
  const auto all_told = [&] {
    return server.committed(spec.group, topic, 0) == 10 &&
           server.committed(spec.group, topic, 1) == 10;
  };
  EXPECT_TRUE(test::comes_true(all_told));
  Member second(spec);
  ASSERT_TRUE(second.source().receive({}).has_value());
  EXPECT_TRUE(test::comes_true([&] {
    return figure_of(first.source(), "partitions") == 1 &&
           figure_of(second.source(), "partitions") == 1;
  })) << "nobody answers for the first one";
}

TEST(KafkaSource, FiguresMayBeAskedByAnyThreadUntilItIsClosed) {
  const std::string topic = topic_with(300, 2);
  Member member(spec_of(topic));
  EXPECT_EQ(figure_of(member.source(), "lag", topic + "-0"), std::nullopt) << "not there yet";
  std::atomic<bool> closed{false};
  std::thread watcher([&] {
    while (!closed) (void)member.source().figures();
    EXPECT_TRUE(member.source().figures().empty());
  });
  const auto arrivals = member.receive(300);
  EXPECT_EQ(arrivals.size(), 300U);
  const auto becomes = [&](std::int64_t lag) {
    test::comes_true([&] { return figure_of(member.source(), "lag") == lag; });
    EXPECT_EQ(figure_of(member.source(), "lag"), lag);
  };
  becomes(300);
  member.settle({arrivals.begin(), arrivals.begin() + 100});
  // For each partition only what is settled in one piece from its beginning.
  std::int64_t in_one_piece = 0;
  for (const char* end : {"-0", "-1"}) {
    for (const Arrival& arrival : arrivals) {
      if (!arrival.partition.ends_with(end)) continue;
      if (&arrival - arrivals.data() >= 100) break;
      ++in_one_piece;
    }
  }
  becomes(300 - in_one_piece);
  member.settle(arrivals);
  becomes(0);
  EXPECT_EQ(figure_of(member.source(), "committed", topic + "-1"), 150);
  EXPECT_EQ(figure_of(member.source(), "partitions"), 2);
  EXPECT_TRUE(member.source().close(60s).has_value());
  closed = true;
  watcher.join();
}

// It may still deliver messages that were in flight when a process died.
TEST(KafkaSource, APartitionIsUnreadUntilItWasReadToItsEnd) {
  using Names = std::vector<std::string>;
  const std::string topic = KafkaServer::shared().new_topic(2);
  KafkaServer::shared().produce(topic, {{.value = "{}", .partition = 1}});
  Member member(spec_of(topic));
  Source& source = member.source();
  source.set_paused(topic + "-1", true);
  const auto comes_to = [&](const Names& unread) {
    return test::comes_true([&] {
      EXPECT_TRUE(source.receive({}).has_value());
      return figure_of(source, "partitions") == 2 && source.unread() == unread;
    });
  };
  EXPECT_TRUE(comes_to({topic + "-1"})) << "the other one is empty";
  source.set_paused(topic + "-1", false);
  EXPECT_TRUE(comes_to({}));
  EXPECT_TRUE(source.close(60s).has_value());
  EXPECT_EQ(source.unread(), std::nullopt);
}

// Transaction markers are between the records and after the last one: they do not count as lag.
TEST(KafkaSource, OnlyWhatWasCommittedInATransactionIsSeenAndItsMarksAreNoLag) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  server.produce_in_transaction(topic, {"1", "2"}, true);
  server.produce_in_transaction(topic, {"3"}, false);
  server.produce_in_transaction(topic, {"4"}, true);
  // A mark may follow the answer to its transaction.
  EXPECT_TRUE(test::comes_true([&] { return server.end_of(topic, 0) >= 7; }));
  EXPECT_EQ(server.end_of(topic, 0), 7) << "four records, three marks";
  Member member(spec_of(topic));
  const auto arrivals = member.receive(3);
  ASSERT_EQ(arrivals.size(), 3U);
  EXPECT_EQ(arrivals[2].payload, "4");
  member.settle(arrivals);
  test::comes_true([&] {
    EXPECT_TRUE(member.receive(1, 20ms).empty());
    return figure_of(member.source(), "lag") == 0;
  });
  EXPECT_EQ(figure_of(member.source(), "lag"), 0);
  EXPECT_TRUE(test::comes_true([&] {
    return figure_of(member.source(), "committed", topic + "-0") == 7;
  })) << "the mark behind the last record too";
}

// The queue is full with each record, and librdkafka by itself looks once a second whether it still
// is.
TEST(KafkaSource, AFullQueueIsFetchedForAgainAsSoonAsItHasRoom) {
  constexpr std::size_t kRecords = 20;
  const std::string topic = KafkaServer::shared().new_topic();
  // No two of them fit into one batch of the producer, and each fetch brings one batch.
  KafkaServer::shared().produce_values(
      topic, std::vector<std::string>(kRecords, std::string(600'000, 'x')));
  core::KafkaSpec spec = spec_of(topic);
  spec.properties["queued.min.messages"] = "1";
  spec.properties["max.partition.fetch.bytes"] = "1000";
  Member member(spec);
  (void)member.receive(1);
  const auto began = std::chrono::steady_clock::now();
  (void)member.receive(kRecords - 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(kRecords / 2));
}

TEST(KafkaSource, HowLongTheTopicIsKeptComesBeforeItsFirstMessage) {
  const std::string topic =
      KafkaServer::shared().new_topic(1, {{"retention.ms", "3600000"}, {"segment.ms", "7200000"}});
  KafkaServer::shared().produce_values(topic, {"{}"});
  Member member(spec_of(topic));
  std::optional<Horizon> horizon;
  EXPECT_TRUE(test::comes_true([&] {
    auto received = member.source().receive({});
    EXPECT_TRUE(received.has_value());
    if (!received) return true;
    horizon = received->horizon;
    EXPECT_TRUE(horizon.has_value() || received->arrivals.empty());
    return horizon.has_value();
  }));
  ASSERT_TRUE(horizon.has_value()) << "it was not told";
  EXPECT_EQ(horizon->longest, 3h);
}

TEST(KafkaSource, ATopicThatIsNotThereIsSaidOnceAndForAll) {
  auto spec = spec_of("no-such-topic");
  const auto source = opened_kafka(spec);
  Error error;
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = source->receive({});
    if (!received) error = received.error();
    return !received;
  }));
  EXPECT_EQ(error.code, "R303");
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
  EXPECT_NE(error.message.find("no-such-topic"), std::string::npos);
}

}  // namespace
}  // namespace semel::conformance
