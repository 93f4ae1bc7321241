#include "sources/kafka/assignment.h"

#include <gtest/gtest.h>

#include "sources/kafka/open_commits.h"

namespace semel::kafka {
namespace {

const TopicPartition kFirst{"orders", 0};
const TopicPartition kSecond{"orders", 1};

TEST(KafkaOpenCommits, AnAnswerIsOfTheAssignmentItsCommitWasSentFor) {
  OpenCommits open;
  open.sent(kFirst, 8, 1);
  open.sent(kSecond, 8, 2);
  open.sent(kFirst, 8, 3);
  EXPECT_EQ(open.answered(kFirst, 9), std::nullopt);
  EXPECT_EQ(open.answered(kFirst, 8), 1U) << "in their order";
  EXPECT_EQ(open.answered(kFirst, 8), 3U);
  EXPECT_EQ(open.answered(kFirst, 8), std::nullopt);
  EXPECT_EQ(open.answered(kSecond, 8), 2U);
}

// An answer for the old log names no current partition, so it is passed to no ledger.
TEST(KafkaOpenCommits, ALogThatWasBegunAnewHearsNothingOfTheOldOnes) {
  Assignment assignment;
  Partition& partition = assignment.add(kFirst, nullptr);
  OpenCommits open;
  open.sent(kFirst, 8, partition.generation);
  assignment.begin_anew(partition);
  const auto generation = open.answered(kFirst, 8);
  ASSERT_TRUE(generation);
  EXPECT_EQ(assignment.find(*generation), nullptr);
  EXPECT_NE(assignment.find(kFirst), nullptr);
}

// The engine asks which partitions may still bring messages that were in flight when a process
// died.
TEST(KafkaAssignment, NamesThePartitionsThatWereNotReadToTheirEnds) {
  Assignment assignment;
  EXPECT_TRUE(assignment.unread().empty());
  assignment.add(kFirst, nullptr);
  assignment.add(kSecond, nullptr);
  EXPECT_EQ(assignment.unread(), (std::vector<std::string>{"orders-0", "orders-1"}));
  assignment.find(kFirst)->at_end = true;
  EXPECT_EQ(assignment.unread(), std::vector<std::string>{"orders-1"});
  assignment.add(kFirst, nullptr);
  EXPECT_EQ(assignment.unread().size(), 2U) << "taken away meanwhile, it may hold others";
}

TEST(KafkaSkips, AreWhatTheLogNoLongerHadWhenItWasReadOn) {
  Assignment assignment;
  Partition& partition = assignment.add(kFirst, nullptr);
  partition.stood_at(3);
  EXPECT_EQ(partition.came(7, 7), (Skip{3, 7})) << "the log begins there now";
  EXPECT_EQ(partition.came(8, 7), std::nullopt);
  EXPECT_EQ(partition.came(20, 7), std::nullopt) << "compacted, or a transaction's marks";
  EXPECT_EQ(partition.came(30, 25), (Skip{21, 25})) << "while it was read";
  EXPECT_EQ(partition.came(31, 40), std::nullopt) << "fetched before the log let go of it";
  EXPECT_EQ(partition.came(50, -1), std::nullopt) << "nobody has said where it begins";
}

TEST(KafkaSkips, AreSeenTooWhereTheOffsetIsKnownLater) {
  Assignment assignment;
  Partition& partition = assignment.add(kFirst, nullptr);
  EXPECT_EQ(partition.came(7, 7), std::nullopt);
  EXPECT_EQ(partition.came(8, 7), std::nullopt);
  EXPECT_EQ(partition.stood_at(3), (Skip{3, 7}));
  EXPECT_EQ(partition.stood_at(3), std::nullopt) << "once";
  assignment.begin_anew(partition);
  EXPECT_EQ(partition.came(5, 5), std::nullopt) << "another log";
  EXPECT_EQ(partition.stood_at(-1), std::nullopt) << "the group had no offset";
}

}  // namespace
}  // namespace semel::kafka
