// The Kafka source on a log that does not match its position: the log ends in offsets without
// records, or is another log than the one that was read.
#include <fmt/format.h>

#include "tests/conformance/kafka_member.h"

namespace semel::conformance {
namespace {

// Whether the group's position becomes `offset`, while the member keeps polling and receives
// nothing.
bool stands_at(const core::KafkaSpec& spec, Member& member, std::int64_t offset) {
  return test::comes_true([&] {
    EXPECT_TRUE(member.receive(1, 1ms).empty());
    return KafkaServer::shared().committed(spec.group, spec.topics.front(), 0) == offset;
  });
}

TEST(KafkaPosition, IsCommittedBehindAbortedRecordsAndMarks) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  server.produce_in_transaction(topic, {"1", "2"}, false);
  EXPECT_TRUE(test::comes_true([&] { return server.end_of(topic, 0) == 3; }));
  const auto spec = spec_of(topic);
  Member member(spec);
  EXPECT_TRUE(read_to_end(member.source()).arrivals.empty());
  EXPECT_TRUE(stands_at(spec, member, 3)) << "while it is idle";
  server.produce_in_transaction(topic, {"3"}, true);
  const auto arrivals = member.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_TRUE(test::comes_true([&] { return server.end_of(topic, 0) == 5; }));
  (void)member.receive(1, 200ms);
  EXPECT_EQ(server.committed(spec.group, topic, 0), 3) << "one is open";
  member.settle(arrivals);
  EXPECT_TRUE(stands_at(spec, member, 5));
}

TEST(KafkaPosition, IsCommittedByAMemberThatLeavesAndOfWhatIsTakenFromIt) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic(2);
  const auto spec = spec_of(topic);
  {
    Member member(spec);
    (void)read_to_end(member.source());
    EXPECT_TRUE(member.source().close(60s).has_value());
  }
  EXPECT_EQ(server.committed(spec.group, topic, 0), 0);
  EXPECT_EQ(server.committed(spec.group, topic, 1), 0);
  server.produce_in_transaction(topic, {"1"}, false);
  Member first(spec);
  (void)read_to_end(first.source());
  Member second(spec);
  EXPECT_TRUE(test::comes_true([&] {
    EXPECT_TRUE(second.receive(1, 1ms).empty());
    EXPECT_TRUE(first.receive(1, 1ms).empty());
    return figure_of(first.source(), "partitions") == 1 &&
           figure_of(second.source(), "partitions") == 1 &&
           server.committed(spec.group, topic, 0) == server.end_of(topic, 0) &&
           server.committed(spec.group, topic, 1) == server.end_of(topic, 1);
  }));
}

TEST(KafkaPosition, OfANewGroupFromLatestIsKeptThoughItSawNothing) {
  const std::string topic = topic_with(3, 1);
  const auto spec = spec_from(topic, From::kLatest);
  {
    Member member(spec);
    EXPECT_TRUE(read_to_end(member.source()).arrivals.empty());
    EXPECT_TRUE(member.source().close(60s).has_value());
  }
  EXPECT_EQ(KafkaServer::shared().committed(spec.group, topic, 0), 3);
  KafkaServer::shared().produce_values(topic, {"between"});
  Member member(spec);
  const auto arrivals = member.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].payload, "between");
}

TEST(KafkaPosition, OfADryRunIsNobodys) {
  const std::string topic = topic_with(3, 1);
  const auto spec = spec_from(topic, From::kLatest);
  auto source = kafka::make_kafka_source(spec, system_environment(), kafka::Commits::kNever);
  ASSERT_TRUE(source.has_value());
  (void)read_to_end(**source);
  EXPECT_TRUE((*source)->close(60s).has_value());
  EXPECT_EQ(KafkaServer::shared().committed(spec.group, topic, 0), -1);
}

// A group whose member has read `topic` to its end and committed that.
class KafkaNewLogs : public testing::TestWithParam<From> {
 protected:
  KafkaNewLogs() : spec_(spec_of(topic_with(5, 1))) {
    {
      Member before(spec_);
      before.settle(before.receive(5));
      EXPECT_TRUE(before.source().close(60s).has_value());
    }
    spec_.from = GetParam();
    member_.emplace(spec_);
    (void)read_to_end(source());
  }
  Source& source() { return member_->source(); }
  const std::string& topic() const { return spec_.topics.front(); }
  // As long as the old topic: a reader that continued at the old position would wait forever.
  void make_anew() const {
    const KafkaServer& server = KafkaServer::shared();
    server.delete_topic(topic());
    server.make_topic(topic(), 1);
    server.produce_values(topic(), {"0", "1", "2", "3", "4"});
  }

  core::KafkaSpec spec_;
  std::optional<Member> member_;
};

TEST_P(KafkaNewLogs, AreBegunByFromAndTold) {
  make_anew();
  Watched watched;
  EXPECT_TRUE(test::comes_true([&] {
    watched.look(source());
    if (watched.error) return true;
    member_->settle(watched.arrivals);
    return (watched.told("created anew") || watched.told("begun anew")) &&
           KafkaServer::shared().committed(spec_.group, topic(), 0) == 5;
  }));
  if (GetParam() == From::kFail) {
    ASSERT_TRUE(watched.error) << "it goes on";
    EXPECT_EQ(watched.error->code, "R307");
    EXPECT_EQ(watched.error->kind, ErrorKind::kRejected);
    return;
  }
  ASSERT_FALSE(watched.error) << watched.error->message;
  // From the end: as far as the log was when it was met.
  if (GetParam() == From::kEarliest) {
    EXPECT_EQ(watched.arrivals.size(), 5U);
  }
  KafkaServer::shared().produce_values(topic(), {"next"});
  const auto next = member_->receive(1);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].payload, "next");
}

// An offset of the old log that is settled now means nothing in the new log.
TEST_P(KafkaNewLogs, AreNotGivenAnOffsetOfTheOldOne) {
  const KafkaServer& server = KafkaServer::shared();
  server.produce_values(topic(), {"5", "6", "7"});
  const auto open = member_->receive(3);
  ASSERT_EQ(open.size(), 3U);
  make_anew();
  member_->settle(open);
  EXPECT_TRUE(source().close(60s).has_value());
  EXPECT_LE(server.committed(spec_.group, topic(), 0), 5) << "8 was settled, in the old log";
  if (GetParam() != From::kEarliest) return;
  Member next(spec_);
  EXPECT_EQ(next.receive(5).size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(From, KafkaNewLogs,
                         testing::Values(From::kEarliest, From::kLatest, From::kFail),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// A log that let go of records before the group has read them.
class KafkaLogsThatLetGo : public testing::Test {
 protected:
  KafkaLogsThatLetGo() : spec_(spec_of(topic_with(10, 1))) {
    Member before(spec_);
    before.settle(before.receive(3));
    EXPECT_TRUE(before.source().close(60s).has_value());
  }
  const std::string& topic() const { return spec_.topics.front(); }

  core::KafkaSpec spec_;
};

TEST_F(KafkaLogsThatLetGo, WhatTheLogLetGoOfIsToldAndCounted) {
  KafkaServer::shared().delete_records(topic(), 0, 7);
  Member member(spec_);
  Watched watched;
  EXPECT_TRUE(test::comes_true([&] {
    watched.look(member.source());
    return watched.arrivals.size() == 3 && watched.told("skipped offsets 3 to 6");
  }));
  EXPECT_EQ(figure_of(member.source(), "skipped"), 4);
}

TEST_F(KafkaLogsThatLetGo, AlsoWhereNothingIsLeft) {
  KafkaServer::shared().delete_records(topic(), 0, 10);
  Member member(spec_);
  Watched watched;
  EXPECT_TRUE(test::comes_true([&] {
    watched.look(member.source());
    return watched.at_end && watched.told("skipped offsets 3 to 9");
  }));
  EXPECT_EQ(figure_of(member.source(), "skipped"), 7);
}

TEST_F(KafkaLogsThatLetGo, AsLongAsItIsReadInTimeNothingIsSkipped) {
  KafkaServer::shared().delete_records(topic(), 0, 3);
  Member member(spec_);
  const Watched watched = read_to_end(member.source());
  EXPECT_EQ(watched.arrivals.size(), 7U);
  EXPECT_TRUE(watched.notices.empty()) << watched.notices.front();
  EXPECT_EQ(figure_of(member.source(), "skipped"), std::nullopt);
}

// Another topic ends the reading; the drain settles what was in flight.
TEST(KafkaFinalError, WhatIsSettledAfterItIsCommittedAndTheGroupLeft) {
  const KafkaServer& server = KafkaServer::shared();
  auto spec = spec_of(topic_with(5, 1));
  const std::string kept = spec.topics.front();
  const std::string lost = topic_with(5, 1);
  spec.topics.push_back(lost);
  {
    Member before(spec);
    auto all = before.receive(10);
    ASSERT_EQ(all.size(), 10U);
    std::erase_if(all, [&](const Arrival& one) {
      return one.position != kept + "-0-0" && one.partition != lost + "-0";
    });
    before.settle(all);
    EXPECT_TRUE(before.source().close(60s).has_value());
  }
  spec.from = From::kFail;
  Member member(spec);
  const auto open = member.receive(4);
  ASSERT_EQ(open.size(), 4U);
  server.delete_topic(lost);
  server.make_topic(lost, 1);
  Watched watched;
  ASSERT_TRUE(test::comes_true([&] {
    watched.look(member.source());
    return watched.error.has_value();
  }));
  EXPECT_EQ(watched.error->code, "R307");
  member.settle(open);
  EXPECT_TRUE(test::comes_true([&] { return server.committed(spec.group, kept, 0) == 5; }))
      << "while it drains";
  EXPECT_EQ(server.members(spec.group), 1);
  EXPECT_TRUE(member.source().close(60s).has_value());
  EXPECT_EQ(server.members(spec.group), 0) << "without waiting for its session's end";
}

TEST(KafkaTopicThatIsDeleted, IsToldAndIsAtItsEnd) {
  const std::string topic = topic_with(2, 1);
  Member member(spec_of(topic));
  ASSERT_EQ(member.receive(2).size(), 2U);
  KafkaServer::shared().delete_topic(topic);
  Watched watched;
  EXPECT_TRUE(test::comes_true([&] {
    watched.look(member.source());
    return watched.at_end && watched.told("not there any more");
  }));
  EXPECT_FALSE(watched.error);
}

}  // namespace
}  // namespace semel::conformance
