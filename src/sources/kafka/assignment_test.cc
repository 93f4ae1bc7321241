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

// What an answer of before names is no partition of now, and so is told to no ledger.
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

}  // namespace
}  // namespace semel::kafka
