#include "sources/kafka/group_begins.h"

#include <gtest/gtest.h>

namespace semel::kafka {
namespace {

const TopicPartition kA0{"a", 0};
const TopicPartition kA1{"a", 1};
const TopicPartition kB0{"b", 0};

TEST(KafkaGroupBegins, AtItsOffsetWhereItHasOne) {
  const GroupBegins begins = begins_of({kA0, kA1}, {{kA0, 0}, {kA1, 7}, {kB0, -1}});
  EXPECT_EQ(begins.at, (Offsets{{kA0, 0}, {kA1, 7}}));
  EXPECT_TRUE(begins.new_topics.empty()) << "nothing of b is asked for";
}

TEST(KafkaGroupBegins, AtTheLogsBeginningWhereAnotherPartitionOfTheTopicHasOne) {
  const GroupBegins begins = begins_of({kA1}, {{kA0, 5}, {kA1, -1}});
  EXPECT_EQ(begins.at, (Offsets{{kA1, kLogBegin}}));
  EXPECT_TRUE(begins.new_topics.empty());
}

TEST(KafkaGroupBegins, AtTheEndWhereTheGroupIsNewInTheTopic) {
  const GroupBegins begins = begins_of({kA0, kB0}, {{kA0, -1}, {kA1, -1}, {kB0, 3}});
  EXPECT_EQ(begins.at, (Offsets{{kA0, kLogEnd}, {kB0, 3}}));
  EXPECT_EQ(begins.new_topics, std::set<std::string>{"a"}) << "an offset in b says nothing of it";
}

}  // namespace
}  // namespace semel::kafka
