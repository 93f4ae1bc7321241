// HeldMessages of a store whose clock is set back, and what is due among what nothing delays.
#include <algorithm>
#include <string>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

constexpr const char* kNoClock = "trait: nothing sets its clock back";
// More than one look at the queue has.
constexpr int kMany = 300;

TEST_P(HeldSuite, AClockThatIsSetBackDelaysNoMessageAndKeepsTheirOrder) {
  append({held_message("k", "first")});
  if (!set_back(10s)) GTEST_SKIP() << kNoClock;
  append({held_message("k", "second"), held_message({}, "third")});
  reopen();
  ASSERT_TRUE(set_back(1h));
  append({held_message("k", "fourth")});
  EXPECT_EQ(held().depth(consumer()).value().next_due, 0ms);
  EXPECT_EQ(payloads(take(2)), (Payloads{"first", "second"}));
  EXPECT_EQ(payloads(take()), (Payloads{"third", "fourth"}));
}

TEST_P(HeldSuite, ADelayIsOfTheStoresClockThoughItIsSetBack) {
  append({held_message({}, "late", 20s)});
  if (!set_back(10s)) GTEST_SKIP() << kNoClock;
  advance(25s);
  EXPECT_TRUE(take().empty());
  advance(6s);
  EXPECT_EQ(payloads(take()), Payloads{"late"});
}

TEST_P(HeldSuite, ARowThatIsGivenBackIsDueThoughTheClockIsSetBack) {
  append({held_message({}, "one"), held_message({}, "two")});
  const RowTag row = *take(1).at(0).row;
  if (!set_back(1h)) GTEST_SKIP() << kNoClock;
  ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
  EXPECT_EQ(payloads(take()), (Payloads{"one", "two"}));
}

TEST_P(HeldSuite, ALongQueueKeepsBackNothingThatIsDue) {
  append({held_message({}, "before"), held_message({}, "late", 20s)});
  std::vector<RowTag> given_back;
  for (const Arrival& one : take(1)) given_back.push_back(*one.row);
  ASSERT_TRUE(held().release(given_back, 30s).has_value());
  advance(10s);
  append({held_message({}, "older")});
  advance(21s);
  std::vector<OutgoingMessage> queue;
  for (int i = 0; i < kMany; ++i) queue.push_back(held_message({}, std::to_string(i)));
  append(queue);
  EXPECT_EQ(payloads(take(2)), (Payloads{"older", "late"}));
  EXPECT_EQ(payloads(take(3)), (Payloads{"before", "0", "1"}));
  EXPECT_EQ(take(kMany).size(), kMany - 2U);
}

TEST_P(HeldLinesSuite, ALineIsInTheOrderOfItsRowsThoughTheClockIsSetBack) {
  send({"a:1", "b:1"});
  if (!set_back(10s)) GTEST_SKIP() << kNoClock;
  send({"a:2", "none"});
  ASSERT_TRUE(set_back(1h));
  send({"a:3", "b:2"});
  const auto first = take_lines(1);
  ASSERT_EQ(payloads(first), Payloads{"a:1"});
  release(first[0]);
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:1", "b:1", "a:2", "none", "a:3", "b:2"}));
}

TEST_P(HeldLinesSuite, WhatIsHeldBehindIsDueThoughTheClockIsSetBack) {
  send({"a:1"});
  const auto first = take_lines();
  ASSERT_EQ(payloads(first), Payloads{"a:1"});
  ASSERT_EQ(hold({{"m-2", "a:2"}}), std::vector{HeldMessages::Place::kHeld});
  if (!set_back(1h)) GTEST_SKIP() << kNoClock;
  remove(first[0]);
  EXPECT_EQ(payloads(take_lines()), Payloads{"a:2"});
}

TEST_P(HeldLinesSuite, ALongQueueKeepsBackNoRetryOfALine) {
  send({"a:1", "a:2"});
  const auto first = take_lines(1);
  ASSERT_EQ(payloads(first), Payloads{"a:1"});
  release(first[0], 20s);
  advance(21s);
  std::vector<Bytes> queue;
  for (int i = 0; i < kMany; ++i) queue.push_back("b" + std::to_string(i) + ":");
  send(queue);
  const auto taken = payloads(take_lines(10));
  ASSERT_EQ(taken.size(), 10U);
  EXPECT_EQ(taken[0], "a:1");
  EXPECT_NE(std::ranges::find(taken, "a:2"), taken.end());
  EXPECT_EQ(take_lines(2 * kMany).size(), kMany - 8U);
}

}  // namespace
}  // namespace semel::conformance
