// HeldMessages: messages that wait in the store, and how they leave it.
#include <poll.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

using test::make_message;

bool readable(int fd, milliseconds patience) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(patience.count())) == 1;
}

TEST_P(HeldSuite, RowsComeInTheOrderTheyWereAppended) {
  for (int i = 0; i < 5; ++i) append({held_message({}, "a" + std::to_string(i))});
  append({held_message({}, "b0"), held_message({}, "b1")});
  EXPECT_EQ(payloads(take(4)), (Payloads{"a0", "a1", "a2", "a3"}));
  EXPECT_EQ(payloads(take(4)), (Payloads{"a4", "b0", "b1"}));
  EXPECT_TRUE(take().empty());
}

TEST_P(HeldSuite, ARowKeepsWhatItWasGiven) {
  OutgoingMessage given;
  given.payload = Bytes("\0\xff payload", 10);
  given.headers = {{"Name", Bytes("\0v", 2)}, {"name", "second"}, {"empty", ""}};
  given.content_type = "application/json";
  given.type = "payment.made";
  given.key = Bytes("a\0key\xfe", 6);
  append({given, held_message({}, "")});
  reopen();
  const auto taken = take();
  ASSERT_EQ(taken.size(), 2U);
  const Arrival& first = taken[0];
  EXPECT_EQ(first.payload, given.payload);
  ASSERT_EQ(first.headers.size(), 3U);
  EXPECT_EQ(first.headers[0].name, "Name");
  EXPECT_EQ(first.headers[0].value, given.headers[0].value);
  EXPECT_EQ(first.headers[1].value, "second");
  EXPECT_EQ(first.headers[2].value, "");
  EXPECT_EQ(first.content_type, given.content_type);
  EXPECT_EQ(first.type, given.type);
  EXPECT_EQ(first.key, given.key);
  EXPECT_TRUE(first.row.has_value());
  EXPECT_FALSE(first.suspect);
  EXPECT_EQ(first.attempts, 0);
  EXPECT_EQ(taken[1].payload, "");
  EXPECT_FALSE(taken[1].key.has_value()) << "none was given: the consumer's recipe finds it";
  EXPECT_NE(first.row, taken[1].row);
}

TEST_P(HeldSuite, ALargePayloadIsKeptWhole) {
  Bytes large(4 << 20, 'x');
  large[1 << 20] = '\0';
  append({held_message("big", large)});
  reopen();
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(taken[0].payload == large);
}

TEST_P(HeldSuite, ADelayedRowShowsWhenItIsDueOldestFirst) {
  append({held_message({}, "late", 40s), held_message({}, "soon", 20s), held_message({}, "now")});
  EXPECT_EQ(payloads(take()), Payloads{"now"});
  advance(21s);
  EXPECT_EQ(payloads(take()), Payloads{"soon"});
  append({held_message({}, "newer")});
  advance(20s);
  EXPECT_EQ(payloads(take()), (Payloads{"newer", "late"}));
}

TEST_P(HeldSuite, ATakenRowIsHiddenUntilItsTimeEnds) {
  append({held_message({}, "one")});
  const auto first = take(10, 30s);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(take().empty());
  advance(25s);
  EXPECT_TRUE(take().empty());
  advance(6s);
  const auto again = take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].payload, "one");
}

TEST_P(HeldSuite, ExtendHidesFromNow) {
  append({held_message({}, "one")});
  const RowTag row = *take(10, 30s).at(0).row;
  advance(25s);
  ASSERT_TRUE(held().extend({&row, 1}, 30s).has_value());
  advance(25s);
  EXPECT_TRUE(take().empty());
  advance(6s);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, ExtendLeavesWhatIsNotHiddenAnyMore) {
  append({held_message({}, "released"), held_message({}, "expired")});
  const auto taken = take(10, 30s);
  ASSERT_EQ(taken.size(), 2U);
  const RowTag released = *taken[0].row;
  ASSERT_TRUE(held().release({&released, 1}, 0ms).has_value());
  ASSERT_TRUE(held().extend({&released, 1}, 10min).has_value());
  EXPECT_EQ(payloads(take(10, 10min)), Payloads{"released"});
  advance(31s);
  const RowTag expired = *taken[1].row;
  ASSERT_TRUE(held().extend({&expired, 1}, 10min).has_value());
  EXPECT_EQ(payloads(take()), Payloads{"expired"});
}

TEST_P(HeldSuite, AReleasedRowStandsWhereItStood) {
  append({held_message({}, "first"), held_message({}, "second")});
  const RowTag row = *take(1).at(0).row;
  advance(1s);
  append({held_message({}, "third")});
  ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
  EXPECT_EQ(payloads(take()), (Payloads{"first", "second", "third"}));
}

TEST_P(HeldSuite, AReleasedRowShowsAfterItsDelay) {
  append({held_message({}, "one")});
  RowTag row = *take().at(0).row;
  ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
  const auto again = take();
  ASSERT_EQ(again.size(), 1U) << "at once, although it was hidden for longer";
  row = *again[0].row;
  ASSERT_TRUE(held().release({&row, 1}, 20s).has_value());
  EXPECT_TRUE(take().empty());
  advance(21s);
  EXPECT_EQ(take().size(), 1U);
}

// Its time ends while its process is paused, and another one takes it.
TEST_P(HeldSuite, ARowInAnothersHandIsNeitherGivenBackNorHiddenForLonger) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const auto other = place().open();
  append({held_message({}, "one")});
  const RowTag row = *take(1, 30s).at(0).row;
  advance(31s);
  ASSERT_EQ(other->facets().held->take(consumer(), 1, 1 << 20, 60s).value().size(), 1U);
  ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
  EXPECT_TRUE(take().empty()) << "the other one has it";
  ASSERT_TRUE(held().release({&row, 1}, 20s).has_value());
  advance(21s);
  EXPECT_TRUE(take().empty()) << "the other one has it";
  ASSERT_TRUE(held().extend({&row, 1}, 10min).has_value());
  advance(40s);
  EXPECT_EQ(take().size(), 1U) << "the time of the other one is over";
}

TEST_P(HeldSuite, ARowThatIsInNoHandStaysAsItIs) {
  append({held_message({}, "one")});
  const RowTag row = *take(1, 30s).at(0).row;
  ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
  ASSERT_TRUE(held().release({&row, 1}, 20s).has_value());
  EXPECT_EQ(take().size(), 1U) << "it was given back before";
}

TEST_P(HeldSuite, ARemovedRowIsGone) {
  append({held_message({}, "one"), held_message({}, "two")});
  const RowTag row = *take(1).at(0).row;
  ASSERT_TRUE(held().remove({&row, 1}).has_value());
  reopen();
  advance(2min);
  EXPECT_EQ(payloads(take()), Payloads{"two"});
}

TEST_P(HeldSuite, UnknownTagsAreIgnored) {
  append({held_message({}, "one")});
  const std::vector<RowTag> unknown = {RowTag{123'456}, RowTag{-1}, RowTag{0}};
  EXPECT_TRUE(held().release(unknown, 0ms).has_value());
  const auto extended = held().extend(unknown, 1min);
  EXPECT_TRUE(extended.has_value()) << extended.error().message;
  EXPECT_TRUE(held().remove(unknown).has_value());
  EXPECT_EQ(finish(test::ack_only(unknown[0])), Applied::kYes);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, LimitsHoldByMessagesAndBytes) {
  std::vector<OutgoingMessage> messages;
  for (int i = 0; i < 10; ++i) messages.push_back(held_message({}, Bytes(1000, 'x')));
  append(messages);
  EXPECT_EQ(held().take(consumer(), 2, 1 << 20, 1min).value().size(), 2U);
  const auto by_bytes = held().take(consumer(), 100, 2500, 1min).value().size();
  EXPECT_GE(by_bytes, 2U);
  EXPECT_LE(by_bytes, 3U) << "passed by at most one message";
  EXPECT_EQ(held().take(consumer(), 100, 1, 1min).value().size(), 1U) << "never stuck on a big one";
}

TEST_P(HeldSuite, ConsumersHaveRowsOfTheirOwn) {
  const ConsumerNumber other = attach("refunds");
  append({held_message("k", "mine")});
  EXPECT_TRUE(take_for(other, 10, 1min).empty());
  EXPECT_EQ(held().depth(other).value().rows, 0U);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, DepthCountsAllRowsAndSaysWhenTheNextShows) {
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
  EXPECT_FALSE(held().depth(consumer()).value().next_due.has_value());
  append({held_message({}, "later", 60s), held_message({}, "now")});
  auto depth = held().depth(consumer()).value();
  EXPECT_EQ(depth.rows, 2U);
  ASSERT_TRUE(depth.next_due.has_value());
  EXPECT_LE(*depth.next_due, 0ms);
  ASSERT_EQ(take(10, 30s).size(), 1U);
  depth = held().depth(consumer()).value();
  EXPECT_EQ(depth.rows, 2U) << "hidden and not yet due ones too";
  ASSERT_TRUE(depth.next_due.has_value());
  EXPECT_GT(*depth.next_due, 25s);
  EXPECT_LE(*depth.next_due, 30s) << "the hidden one shows first";
}

TEST_P(HeldSuite, APeekSaysWhetherThereAreRowsAndWhenTheNextShows) {
  EXPECT_FALSE(held().peek(consumer()).value().any);
  append({held_message({}, "later", 60s)});
  auto peek = held().peek(consumer()).value();
  EXPECT_TRUE(peek.any);
  ASSERT_TRUE(peek.next_due.has_value());
  EXPECT_GT(*peek.next_due, 55s);
  EXPECT_LE(*peek.next_due, 60s);
  append({held_message({}, "now")});
  EXPECT_LE(*held().peek(consumer()).value().next_due, 0ms);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  ASSERT_TRUE(held().remove({&*taken[0].row, 1}).has_value());
  EXPECT_GT(*held().peek(consumer()).value().next_due, 55s);
}

TEST_P(HeldSuite, RaceOfTakersGivesEachOtherRows) {
  constexpr std::size_t kRows = 300;
  std::vector<OutgoingMessage> messages;
  for (std::size_t i = 0; i < kRows; ++i) messages.push_back(held_message({}, std::to_string(i)));
  append(messages);
  const auto second = durable() ? place().open() : nullptr;
  HeldMessages* takers[] = {&held(), second ? second->facets().held : &held()};
  std::vector<Bytes> taken[2];
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (;;) {
          const auto rows = takers[t]->take(consumer(), 7, 1 << 20, 10min);
          ASSERT_TRUE(rows.has_value()) << rows.error().message;
          if (rows->empty()) return;
          for (const Arrival& arrival : *rows) taken[t].push_back(arrival.payload);
        }
      });
    }
  }
  std::set<Bytes> all(taken[0].begin(), taken[0].end());
  all.insert(taken[1].begin(), taken[1].end());
  EXPECT_EQ(taken[0].size() + taken[1].size(), kRows) << "none twice";
  EXPECT_EQ(all.size(), kRows) << "none lost";
}

TEST_P(HeldSuite, TheDescriptorTellsOfNewRows) {
  const int fd = held().wake_fd();
  if (fd < 0) GTEST_SKIP() << "trait: it cannot tell";
  take();
  append({held_message({}, "one")});
  EXPECT_TRUE(readable(fd, 60s));
  EXPECT_EQ(take().size(), 1U);
  EXPECT_FALSE(readable(fd, 0ms)) << "drained by take";

  const Message m = message("m-1");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 0ms, &m)), Applied::kYes);
  EXPECT_TRUE(readable(fd, 60s)) << "a retry is a row too";
}

TEST_P(HeldSuite, AConsumersDescriptorIsDrainedByItsOwnTakesAlone) {
  const ConsumerNumber other = attach("refunds");
  const int fd = held().wake_fd(consumer());
  if (fd < 0) GTEST_SKIP() << "trait: it cannot tell";
  take();
  take_for(other, 10, 1min);
  append({held_message({}, "one")});
  take_for(other, 10, 1min);
  EXPECT_TRUE(readable(fd, 60s)) << "another consumer's take does not silence it";
  EXPECT_EQ(take().size(), 1U);
  EXPECT_FALSE(readable(fd, 0ms));
}

TEST_P(HeldSuite, TheDescriptorTellsOfRowsOfAnotherStore) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const int fd = held().wake_fd();
  if (fd < 0) GTEST_SKIP() << "trait: it cannot tell";
  const auto other = place().open();
  take();
  const OutgoingMessage one = held_message({}, "one");
  ASSERT_TRUE(other->facets().held->append(consumer(), {&one, 1}).has_value());
  EXPECT_TRUE(readable(fd, 60s));
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(HeldSuite, AppendedRowsOutliveTheStore) {
  if (!durable()) GTEST_SKIP() << "trait: not durable";
  append({held_message({}, "one"), held_message({}, "two", 20s)});
  reopen();
  EXPECT_EQ(payloads(take()), Payloads{"one"});
  reopen();
  advance(21s);
  EXPECT_EQ(payloads(take(1)), Payloads{"two"});
}

}  // namespace
}  // namespace semel::conformance
