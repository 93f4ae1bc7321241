// Where the Kafka source begins with from: latest: a new group, and partitions that are added to a
// topic which a group reads already.
#include <fmt/format.h>

#include <algorithm>

#include "tests/conformance/kafka_member.h"

namespace semel::conformance {
namespace {

using Values = std::vector<std::string>;

Values payloads_of(const std::vector<Arrival>& arrivals) {
  Values payloads;
  for (const Arrival& arrival : arrivals) payloads.emplace_back(arrival.payload);
  std::ranges::sort(payloads);
  return payloads;
}

void produce_to(const std::string& topic, int partition, const Values& values) {
  std::vector<KafkaServer::Record> records;
  for (const std::string& value : values) {
    records.push_back({.value = value, .partition = partition});
  }
  KafkaServer::shared().produce(topic, records);
}

// A topic with one partition, which a group has read from its end on.
class KafkaAddedPartitions : public testing::TestWithParam<const char*> {
 protected:
  KafkaAddedPartitions() : spec_(spec_from(topic_with(3, 1), From::kLatest)) {
    spec_.properties["partition.assignment.strategy"] = GetParam();
    spec_.properties["topic.metadata.refresh.interval.ms"] = "1000";
  }
  const std::string& topic() const { return spec_.topics.front(); }
  std::int64_t committed(int partition) const {
    return KafkaServer::shared().committed(spec_.group, topic(), partition);
  }

  core::KafkaSpec spec_;
};

TEST_P(KafkaAddedPartitions, BetweenTwoRunsAreReadFromTheirBeginning) {
  {
    Member before(spec_);
    EXPECT_TRUE(read_to_end(before.source()).arrivals.empty());
    EXPECT_TRUE(before.source().close(60s).has_value());
  }
  KafkaServer::shared().add_partitions(topic(), 3);
  produce_to(topic(), 1, {"a", "b"});
  produce_to(topic(), 0, {"c"});
  Member member(spec_);
  const Watched watched = read_to_end(member.source());
  EXPECT_EQ(payloads_of(watched.arrivals), (Values{"a", "b", "c"}));
  EXPECT_TRUE(watched.told(topic() + "-1: the group has offsets in other partitions"));
  EXPECT_EQ(figure_of(member.source(), "skipped"), std::nullopt);
  member.settle(watched.arrivals);
  EXPECT_TRUE(member.source().close(60s).has_value());
  EXPECT_EQ(committed(1), 2);
  EXPECT_EQ(committed(2), 0) << "also where nothing came";
}

// It may find them with or without the records: the first is not skipped either.
TEST_P(KafkaAddedPartitions, WhileItRunsAreReadFromTheirBeginning) {
  Member member(spec_);
  (void)read_to_end(member.source());
  EXPECT_TRUE(test::comes_true([&] { return committed(0) == 3; }));
  KafkaServer::shared().add_partitions(topic(), 2);
  produce_to(topic(), 1, {"a", "b"});
  const auto arrivals = member.receive(2);
  EXPECT_EQ(payloads_of(arrivals), (Values{"a", "b"}));
  produce_to(topic(), 0, {"c"});
  EXPECT_EQ(payloads_of(member.receive(1)), (Values{"c"}));
}

// The partition's offset was not committed when the process died.
TEST_P(KafkaAddedPartitions, ThatWereReadByAProcessThatDiedComeAgain) {
  {
    Member before(spec_);
    (void)read_to_end(before.source());
    EXPECT_TRUE(before.source().close(60s).has_value());
  }
  KafkaServer::shared().add_partitions(topic(), 2);
  produce_to(topic(), 1, {"a", "b"});
  {
    Member dies(spec_);
    EXPECT_EQ(dies.receive(2).size(), 2U);
  }
  produce_to(topic(), 1, {"c"});
  Member member(spec_);
  EXPECT_EQ(payloads_of(member.receive(3)), (Values{"a", "b", "c"}));
}

INSTANTIATE_TEST_SUITE_P(Strategies, KafkaAddedPartitions,
                         testing::Values("range", "cooperative-sticky"), [](const auto& info) {
                           return std::string(info.param) == "range" ? "range" : "cooperative";
                         });

class KafkaNewGroups : public testing::TestWithParam<const char*> {
 protected:
  KafkaNewGroups() : spec_(spec_from(topic_with(30, 3), From::kLatest)) {
    spec_.properties["partition.assignment.strategy"] = GetParam();
  }
  const std::string& topic() const { return spec_.topics.front(); }

  core::KafkaSpec spec_;
};

// One that it has not read would look like one that was added.
TEST_P(KafkaNewGroups, HaveAnOffsetInEachPartitionBeforeTheyReadOne) {
  {
    Member dies(spec_);
    dies.source().set_paused(topic() + "-1", true);
    EXPECT_TRUE(test::comes_true([&] {
      EXPECT_TRUE(dies.receive(1, 1ms).empty());
      return KafkaServer::shared().committed(spec_.group, topic(), 0) == 10;
    }));
    EXPECT_EQ(KafkaServer::shared().committed(spec_.group, topic(), 1), 10);
    EXPECT_EQ(KafkaServer::shared().committed(spec_.group, topic(), 2), 10);
  }
  produce_to(topic(), 1, {"between"});
  Member member(spec_);
  EXPECT_EQ(payloads_of(read_to_end(member.source()).arrivals), (Values{"between"}));
}

TEST_P(KafkaNewGroups, OfSeveralMembersBeginAtTheTopicsEnd) {
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < 3; ++i) members.push_back(std::make_unique<Member>(spec_));
  Values came;
  const auto receive = [&] {
    for (const auto& member : members) {
      const auto arrivals = member->receive(10, 1ms);
      member->settle(arrivals);
      for (const Arrival& arrival : arrivals) came.emplace_back(arrival.payload);
    }
  };
  EXPECT_TRUE(test::comes_true([&] {
    receive();
    return std::ranges::all_of(members, [&](const auto& member) {
      return figure_of(member->source(), "partitions") == 1 &&
             member->source().unread() == std::vector<std::string>{};
    });
  }));
  for (int i = 0; i < 3; ++i) produce_to(topic(), i, {fmt::format("next {}", i)});
  EXPECT_TRUE(test::comes_true([&] {
    receive();
    return came.size() >= 3;
  }));
  receive();
  std::ranges::sort(came);
  EXPECT_EQ(came, (Values{"next 0", "next 1", "next 2"}));
}

INSTANTIATE_TEST_SUITE_P(Strategies, KafkaNewGroups, testing::Values("range", "cooperative-sticky"),
                         [](const auto& info) {
                           return std::string(info.param) == "range" ? "range" : "cooperative";
                         });

}  // namespace
}  // namespace semel::conformance
