// Source: messages in order, none lost, and each settlement passed on.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "core/stands_aside.h"
#include "tests/conformance/source_case.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using Kind = Settlement::Kind;
using Payloads = std::vector<Bytes>;

TEST_P(SourceSuite, MessagesComeInOrderAndNoneIsLost) {
  place().add(numbered(250));
  open();
  const auto arrivals = receive(250);
  EXPECT_EQ(payloads(arrivals), expected(numbered(250)));
  std::set<std::pair<std::uint64_t, std::uint64_t>> tags;
  std::set<std::string> positions;
  for (const Arrival& arrival : arrivals) {
    tags.emplace(arrival.tag.value, arrival.tag.generation);
    positions.insert(arrival.position);
    EXPECT_FALSE(arrival.partition.empty());
    EXPECT_FALSE(arrival.position.empty());
    EXPECT_FALSE(arrival.refused.has_value());
    EXPECT_EQ(arrival.row.has_value(), traits().in_store);
  }
  EXPECT_EQ(tags.size(), 250U);
  EXPECT_EQ(positions.size(), 250U) << "a position names one copy";
}

TEST_P(SourceSuite, PayloadsAreBytes) {
  Payloads given = {"\xc3\xa4", "not json", Bytes(200'000, 'x'), " spaces around ", "{}", "\t\"\\"};
  if (GetParam().bytes) {
    const Payloads more = {Bytes("\0nul", 4), "\xff\xfe not UTF-8", Bytes(300'000, 'x')};
    given.insert(given.end(), more.begin(), more.end());
  }
  place().add(given);
  open();
  EXPECT_EQ(payloads(receive(given.size())), expected(given));
}

TEST_P(SourceSuite, LimitsHold) {
  place().add(Payloads(20, Bytes(1000, 'x')));
  open();
  // How many one answer has; a broker may still be sending them.
  const auto come = [&](const ReceiveLimits& limits) {
    std::size_t count = 0;
    test::comes_true([&] {
      count = source().receive(limits).value().arrivals.size();
      return count > 0;
    });
    return count;
  };
  for (std::size_t taken = 0, more = 1; taken < 7; taken += more) {
    more = come({7 - taken, 1 << 20});
    ASSERT_GE(more, 1U);
    ASSERT_LE(more, 7 - taken);
  }
  const std::size_t by_bytes = come({100, 2500});
  EXPECT_GE(by_bytes, 1U);
  EXPECT_LE(by_bytes, 3U) << "passed by at most one message";
  EXPECT_EQ(come({100, 1}), 1U) << "never stuck on a big one";
  EXPECT_EQ(receive(12 - by_bytes).size(), 12 - by_bytes) << "what a limit cut off comes next";
}

TEST_P(SourceSuite, ReceiveDoesNotWait) {
  place().add({});
  open();
  // Nothing will ever come: one that waits does not return.
  EXPECT_TRUE(source().receive({}).value().arrivals.empty());
}

TEST_P(SourceSuite, TheEndIsToldWhereThereIsOne) {
  place().add(numbered(3));
  open();
  const Received first = source().receive({1, 1 << 20}).value();
  EXPECT_FALSE(first.at_end) << "there is more";
  settle(receive(2));
  place().finish();
  if (!traits().ends) {
    EXPECT_FALSE(source().receive({}).value().at_end);
    return;
  }
  settle(first.arrivals, Kind::kRelease);
  bool at_end = false;
  for (int i = 0; i < 100 && !at_end; ++i) {
    woken(50ms);
    auto received = source().receive({}).value();
    settle(received.arrivals);
    at_end = received.at_end;
  }
  EXPECT_TRUE(at_end);
  if (!GetParam().ends_early) return;
  reopen();
  settle(receive_whatever());
  EXPECT_TRUE(source().receive({}).value().at_end);
}

TEST_P(SourceSuite, TheDescriptorTellsOfNewMessages) {
  place().add({});
  open();
  EXPECT_TRUE(receive_whatever().empty());
  if (GetParam().ends_early) {
    EXPECT_TRUE(source().receive({}).value().at_end) << "nobody follows it";
    return;
  }
  place().add(numbered(2));
  EXPECT_TRUE(woken(60s));
  EXPECT_EQ(payloads(receive(2)), expected(numbered(2)));
  place().add(numbered(1, 2));
  EXPECT_TRUE(woken(60s)) << "again";
  EXPECT_EQ(receive(1).size(), 1U);
}

TEST_P(SourceSuite, WhatIsAckedNeverComesAgain) {
  place().add(numbered(20));
  open();
  settle(receive(20));
  EXPECT_TRUE(receive_whatever().empty());
  if (!traits().replays) return;
  reopen();
  place().advance(2 * kHidden);
  EXPECT_TRUE(receive_whatever().empty());
}

TEST_P(SourceSuite, WhatIsNotSettledComesAgainAfterAClose) {
  place().add(numbered(20));
  open();
  auto arrivals = receive(20);
  ASSERT_EQ(arrivals.size(), 20U);
  if (!traits().replays) GTEST_SKIP() << "trait: does not replay";
  settle({arrivals.begin(), arrivals.begin() + 8});
  reopen();
  const auto rest = payloads({arrivals.begin() + 8, arrivals.end()});
  EXPECT_EQ(payloads(receive(12)), rest) << "at once: closing gives back the rest";
}

TEST_P(SourceSuite, WhatIsNotSettledComesAgainAfterADeath) {
  place().add(numbered(20));
  place().expect_death();
  open();
  auto arrivals = receive(20);
  ASSERT_EQ(arrivals.size(), 20U);
  if (!traits().replays) GTEST_SKIP() << "trait: does not replay";
  settle({arrivals.begin(), arrivals.begin() + 8});
  die_and_reopen();
  // Deliveries settled and not told at the death may come as well, and before it.
  const auto open = payloads({arrivals.begin() + 8, arrivals.end()});
  std::set<Bytes> there;
  EXPECT_TRUE(test::comes_true([&] {
    for (const Bytes& payload : payloads(receive_whatever())) there.insert(payload);
    return std::ranges::all_of(open, [&](const Bytes& each) { return there.contains(each); });
  })) << there.size();
}

TEST_P(SourceSuite, SettledOutOfOrderNothingOpenIsLost) {
  place().add(numbered(10));
  open();
  const auto arrivals = receive(10);
  ASSERT_EQ(arrivals.size(), 10U);
  if (!traits().replays) GTEST_SKIP() << "trait: does not replay";
  settle({arrivals[9], arrivals[0], arrivals[4]});
  settle({arrivals[1]});
  reopen();
  const auto again = payloads(receive(6));
  const std::set<Bytes> there(again.begin(), again.end());
  for (const std::size_t open : {2U, 3U, 5U, 6U, 7U, 8U}) {
    EXPECT_TRUE(there.contains(arrivals[open].payload)) << open;
  }
  for (const std::size_t settled : {0U, 1U}) {
    EXPECT_FALSE(there.contains(arrivals[settled].payload)) << "settled, and all before it";
  }
}

TEST_P(SourceSuite, WhatIsReleasedComesAgain) {
  place().add(numbered(5));
  open();
  auto arrivals = receive(5);
  ASSERT_EQ(arrivals.size(), 5U);
  settle({arrivals[1], arrivals[3]}, Kind::kRelease);
  const auto again = receive(2);
  EXPECT_EQ(payloads(again), expected({arrivals[1].payload, arrivals[3].payload}));
  settle({again[0], again[1], arrivals[0], arrivals[2], arrivals[4]});
  EXPECT_TRUE(receive_whatever().empty());
}

TEST_P(SourceSuite, LaterIsNotBeforeItsDelay) {
  place().add(numbered(2));
  open();
  if (!traits().redelivers) GTEST_SKIP() << "trait: does not redeliver";
  const auto arrivals = receive(2);
  ASSERT_EQ(arrivals.size(), 2U);
  settle({arrivals[0]}, Kind::kLater, 20s);
  settle({arrivals[1]}, Kind::kLater, 40s);
  EXPECT_TRUE(receive_whatever().empty());
  place().advance(21s);
  EXPECT_EQ(payloads(receive(1)), Payloads{arrivals[0].payload});
  place().advance(20s);
  EXPECT_EQ(payloads(receive(1)), Payloads{arrivals[1].payload});
}

TEST_P(SourceSuite, ExtendedMessagesDoNotComeAgain) {
  place().add(numbered(1));
  open();
  const auto arrivals = receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  const Tag tag = arrivals[0].tag;
  ASSERT_TRUE(source().extend({&tag, 1}, 4 * kHidden).has_value());
  place().advance(2 * kHidden);
  EXPECT_TRUE(receive_whatever().empty());
  settle(arrivals);
  EXPECT_TRUE(receive_whatever().empty());
}

TEST_P(SourceSuite, APausedSourceYieldsNothing) {
  place().add(numbered(4));
  open();
  const auto first = receive(1, {1, 1 << 20});
  ASSERT_EQ(first.size(), 1U);
  for (const std::string& partition : {std::string(), first[0].partition}) {
    SCOPED_TRACE(partition);
    source().set_paused(partition, true);
    EXPECT_TRUE(source().receive({}).value().arrivals.empty());
    EXPECT_TRUE(receive_whatever().empty());
    source().set_paused(partition, false);
    EXPECT_TRUE(woken(60s)) << "resuming wakes it";
    EXPECT_EQ(receive(1, {1, 1 << 20}).size(), 1U);
  }
  source().set_paused("another partition", true);
  EXPECT_EQ(receive(1, {1, 1 << 20}).size(), 1U);
}

TEST_P(SourceSuite, SettlingWorksWhilePaused) {
  place().add(numbered(3));
  open();
  const auto arrivals = receive(3);
  ASSERT_EQ(arrivals.size(), 3U);
  source().set_paused("", true);
  settle({arrivals[0]});
  settle({arrivals[1]}, Kind::kRelease);
  source().set_paused("", false);
  EXPECT_EQ(payloads(receive(1)), Payloads{arrivals[1].payload});
}

// In a process that lives, and in which nothing can begin.
TEST_P(SourceSuite, StandingAsideItLeavesItsMessagesToOthersUntilItGoesOn) {
  place().add(numbered(3));
  open();
  auto* const aside = dynamic_cast<core::StandsAside*>(&source());
  if (aside == nullptr) GTEST_SKIP() << "its messages are for it alone, or rows of the store";
  if (GetParam().one_name) GTEST_SKIP() << "to the broker the other one is the same member";
  settle(receive(3), Kind::kRelease);
  aside->stand_aside(true);
  Receiver other(place().open(), 60s);
  auto arrivals = other.receive(3);
  place().add(numbered(1, 3));
  for (Arrival& arrival : other.receive(1)) arrivals.push_back(std::move(arrival));
  std::set<Bytes> all;
  for (const Arrival& arrival : arrivals) all.insert(arrival.payload);
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(receive_whatever().empty());
  other.settle(arrivals);
  EXPECT_TRUE(other.source().close(60s).has_value());
  aside->stand_aside(false);
  place().add(numbered(1, 4));
  const auto next = receive(1);
  EXPECT_EQ(payloads(next), numbered(1, 4));
  settle(next);
}

TEST_P(SourceSuite, UnknownAndOldTagsAreIgnored) {
  place().add(numbered(3));
  open();
  const auto arrivals = receive(3);
  ASSERT_EQ(arrivals.size(), 3U);
  std::vector<Settlement> odd;
  for (const Kind kind : {Kind::kAck, Kind::kRelease, Kind::kGone}) {
    odd.push_back({{987'654'321, 0}, kind, 0ms});
    odd.push_back({{0, 0}, kind, 0ms});
    odd.push_back({{arrivals[0].tag.value, arrivals[0].tag.generation + 1000}, kind, 0ms});
  }
  ASSERT_TRUE(source().settle(odd).has_value());
  const Tag unknown{987'654'321, 0};
  EXPECT_TRUE(source().extend({&unknown, 1}, 1s).has_value());
  EXPECT_TRUE(receive_whatever().empty());
  settle(arrivals);
  settle(arrivals);
  settle(arrivals, Kind::kRelease);
  EXPECT_TRUE(receive_whatever().empty()) << "settled before: void";
}

TEST_P(SourceSuite, AnOldTagDoesNotSettleTheNewComing) {
  place().add(numbered(1));
  open();
  if (!traits().replays) GTEST_SKIP() << "trait: does not replay";
  const auto first = receive(1);
  ASSERT_EQ(first.size(), 1U);
  settle(first, Kind::kRelease);
  const auto second = receive(1);
  ASSERT_EQ(second.size(), 1U);
  if (second[0].tag == first[0].tag) GTEST_SKIP() << "one copy has one tag while it is open";
  settle(first);
  reopen();
  EXPECT_EQ(receive(1).size(), 1U) << "an ack of the earlier coming is void";
}

TEST_P(SourceSuite, RaceOfReceiveAndSettle) {
  constexpr std::size_t kCount = 600;
  place().add(numbered(kCount));
  open();
  std::mutex mutex;
  std::vector<Arrival> ready;
  std::atomic<bool> over = false;
  std::atomic<std::size_t> acked = 0;
  std::set<Bytes> given_back;  // the settler's own; each once
  std::jthread settler([&] {
    for (;;) {
      const bool last = over;
      std::vector<Arrival> mine;
      {
        const std::scoped_lock lock(mutex);
        mine.swap(ready);
      }
      std::vector<Settlement> settlements;
      for (const Arrival& arrival : mine) {
        const bool back =
            arrival.payload.ends_with("7}") && given_back.insert(arrival.payload).second;
        settlements.push_back({arrival.tag, back ? Kind::kRelease : Kind::kAck, 0ms});
        if (!back) ++acked;
      }
      EXPECT_TRUE(source().settle(settlements).has_value());
      if (last && settlements.empty()) return;
      std::this_thread::yield();
    }
  });
  const auto end = std::chrono::steady_clock::now() + 60s;
  std::set<Bytes> seen;
  while (acked < kCount && std::chrono::steady_clock::now() < end) {
    auto received = source().receive({50, 1 << 20});
    ASSERT_TRUE(received.has_value()) << received.error().message;
    for (const Arrival& arrival : received->arrivals) seen.insert(arrival.payload);
    const std::scoped_lock lock(mutex);
    std::ranges::move(received->arrivals, std::back_inserter(ready));
  }
  over = true;
  settler.join();
  EXPECT_EQ(acked, kCount) << "each is acked once: a released one came again";
  EXPECT_EQ(seen.size(), kCount);
  EXPECT_EQ(given_back.size(), kCount / 10);
}

TEST_P(SourceSuite, ClosingTwiceIsFine) {
  place().add(numbered(1));
  open();
  EXPECT_TRUE(source().close(1s).has_value());
  EXPECT_TRUE(source().close(1s).has_value());
}

}  // namespace
}  // namespace semel::conformance
