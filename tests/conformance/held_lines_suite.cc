// HeldMessages: rows of one line come one after the other.
#include <map>
#include <random>
#include <string>
#include <thread>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

using Place = HeldMessages::Place;

}  // namespace

std::optional<Bytes> HeldLinesSuite::line_of(const Arrival& arrival) {
  const auto colon = arrival.payload.find(':');
  if (colon == Bytes::npos) return std::nullopt;
  return arrival.payload.substr(0, colon);
}

void HeldLinesSuite::send(const Payloads& payloads) {
  std::vector<OutgoingMessage> messages;
  for (const Bytes& payload : payloads) messages.push_back(held_message({}, payload));
  append(messages);
}

std::vector<Arrival> HeldLinesSuite::take_from(Store& store, std::size_t max, milliseconds hidden) {
  auto taken = store.facets().held->take(consumer(), max, 64 << 20, hidden, line_of);
  EXPECT_TRUE(taken.has_value()) << (taken ? "" : taken.error().message);
  return std::move(taken).value_or(std::vector<Arrival>());
}

void HeldLinesSuite::remove(const Arrival& arrival) {
  ASSERT_TRUE(held().remove({&*arrival.row, 1}).has_value());
}

void HeldLinesSuite::release(const Arrival& arrival, milliseconds delay) {
  ASSERT_TRUE(held().release({&*arrival.row, 1}, delay).has_value());
}

std::vector<Place> HeldLinesSuite::hold(const std::vector<std::pair<Bytes, Bytes>>& messages,
                                        std::size_t most) {
  std::vector<Message> made;
  made.reserve(messages.size());
  std::vector<Arrival> arrivals(messages.size());
  std::vector<Follower> followers;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [key, payload] = messages[i];
    made.push_back(test::make_message(consumer(), key, payload));
    arrivals[i].payload = payload;
    arrivals[i].line = line_of(arrivals[i]);
    followers.push_back({&made[i], &arrivals[i]});
  }
  auto places = held().hold_behind(consumer(), followers, most);
  EXPECT_TRUE(places.has_value()) << (places ? "" : places.error().message);
  return std::move(places).value_or(std::vector<Place>());
}

void HeldLinesSuite::park(const Bytes& key, const Arrival& arrival) {
  const Message m = test::make_message(consumer(), key, arrival.payload);
  Finish park = test::parked(acquire(m).lease, &m);
  park.arrival = &arrival;
  park.ack = arrival.row;
  ASSERT_EQ(finish(park), Applied::kYes);
}

namespace {

TEST_P(HeldLinesSuite, OneTakeMayHaveAWholeLineInOrder) {
  send({"a:1", "b:1", "a:2", "none", "a:3"});
  const auto taken = take_lines();
  EXPECT_EQ(payloads(taken), (Payloads{"a:1", "b:1", "a:2", "none", "a:3"}));
  EXPECT_EQ(taken[0].line, "a");
  EXPECT_EQ(taken[1].line, "b");
  EXPECT_FALSE(taken[3].line.has_value());
}

TEST_P(HeldLinesSuite, WhatIsBehindARowThatWaitsDoesNotShow) {
  send({"a:1", "a:2", "b:1"});
  const auto first = take_lines(1);
  ASSERT_EQ(payloads(first), Payloads{"a:1"});
  release(first[0], 20s);
  EXPECT_EQ(payloads(take_lines()), Payloads{"b:1"}) << "a:2 is behind a:1";
  advance(21s);
  EXPECT_EQ(payloads(take_lines(2)), (Payloads{"a:1", "a:2"})) << "it kept its place";
}

TEST_P(HeldLinesSuite, WhatIsBehindShowsWhenTheFirstIsGone) {
  send({"a:1", "a:2", "a:3"});
  const auto first = take_lines(1);
  release(first[0], 20s);
  EXPECT_TRUE(take_lines().empty());
  advance(21s);
  const auto again = take_lines(1);
  ASSERT_EQ(payloads(again), Payloads{"a:1"});
  remove(again[0]);
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:2", "a:3"}));
}

TEST_P(HeldLinesSuite, ARetryKeepsItsPlace) {
  send({"a:1", "a:2"});
  const auto taken = take_lines();
  ASSERT_EQ(taken.size(), 2U);
  const Message m = test::make_message(consumer(), "m-1", "a:1");
  Finish again = test::retrying(acquire(m).lease, 20s, &m);
  again.arrival = &taken[0];
  again.ack = taken[0].row;
  ASSERT_EQ(finish(again), Applied::kYes);
  release(taken[1]);
  EXPECT_TRUE(take_lines().empty()) << "the retry is not due, and the other is behind it";
  reopen();
  advance(21s);
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:1", "a:2"}));
}

TEST_P(HeldLinesSuite, AParkedMessageDelaysNoneAndJoinsTheEndOnceUnlocked) {
  send({"a:1", "a:2", "a:3"});
  const auto taken = take_lines(2);
  ASSERT_EQ(taken.size(), 2U);
  const Message parked = test::make_message(consumer(), "m-1", "a:1");
  park("m-1", taken[0]);
  release(taken[1]);
  reopen();
  EXPECT_EQ(held().lines(consumer()).value(), std::vector<Bytes>{"a"});
  const auto others = take_lines(1);
  ASSERT_EQ(payloads(others), Payloads{"a:2"});
  ASSERT_TRUE(records().unlock(parked.key().id).value());
  remove(others[0]);
  const auto last = take_lines();
  ASSERT_EQ(payloads(last), (Payloads{"a:3", "a:1"})) << "it is behind the others";
  EXPECT_EQ(last[1].line, "a");
  EXPECT_EQ(last[1].key, "m-1");
  remove(last[0]);
  Finish done = test::completed(acquire(parked).lease);
  done.ack = last[1].row;
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_TRUE(held().lines(consumer()).value().empty());
}

TEST_P(HeldLinesSuite, AParkedMessageAloneLeavesItsLineFree) {
  send({"a:1"});
  const auto taken = take_lines();
  ASSERT_EQ(taken.size(), 1U);
  park("m-1", taken[0]);
  reopen();
  EXPECT_TRUE(held().lines(consumer()).value().empty());
  EXPECT_EQ(hold({{"k-2", "a:2"}}), std::vector{Place::kFree});
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

// Older versions kept a parked row in its place.
TEST_P(HeldLinesSuite, ARowThatAnOlderVersionParkedLeavesItsLine) {
  send({"a:1", "a:2"});
  const auto taken = take_lines();
  ASSERT_EQ(taken.size(), 2U);
  park("m-1", taken[0]);
  if (!place().park_in_line("a")) GTEST_SKIP() << "trait: not durable, so no older rows are there";
  release(taken[1]);
  EXPECT_TRUE(take_lines().empty()) << "a:2 is behind it";
  reopen();
  EXPECT_EQ(held().lines(consumer()).value(), std::vector<Bytes>{"a"});
  const auto others = take_lines();
  ASSERT_EQ(payloads(others), Payloads{"a:2"});
  remove(others[0]);
  ASSERT_TRUE(place().park_in_line("a"));
  EXPECT_EQ(hold({{"k-3", "a:3"}}), std::vector{Place::kHeld});
  ASSERT_TRUE(records().unlock(test::make_message(consumer(), "m-1", "a:1").key().id).value());
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:3", "a:1"})) << "it is behind the others";
}

// One that was in no row before it was parked.
TEST_P(HeldLinesSuite, AMessageParkedFromOutsideIsInNoLine) {
  send({"a:1"});
  const auto first = take_lines();
  ASSERT_EQ(first.size(), 1U);
  const Message m = test::make_message(consumer(), "m-2", "a:2");
  Arrival arrival;
  arrival.payload = m.payload();
  arrival.line = line_of(arrival);
  Finish park = test::parked(acquire(m).lease, &m);
  park.arrival = &arrival;
  ASSERT_EQ(finish(park), Applied::kYes);
  ASSERT_TRUE(records().unlock(m.key().id).value());
  EXPECT_EQ(hold({{"k-3", "a:3"}}), std::vector{Place::kHeld});
  EXPECT_TRUE(take_lines().empty()) << "a:2 is met, and goes behind a:3";
  remove(first[0]);
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:3", "a:2"}));
}

// A retry of the unlocked message keeps the place that it got.
TEST_P(HeldLinesSuite, AnUnlockedMessageHoldsItsNewPlace) {
  send({"a:1"});
  const auto first = take_lines();
  ASSERT_EQ(first.size(), 1U);
  park("m-1", first[0]);
  const Message m = test::make_message(consumer(), "m-1", "a:1");
  ASSERT_TRUE(records().unlock(m.key().id).value());
  const auto taken = take_lines();
  ASSERT_EQ(payloads(taken), Payloads{"a:1"});
  Finish again = test::retrying(acquire(m).lease, 20s, &m);
  again.arrival = &taken[0];
  again.ack = taken[0].row;
  ASSERT_EQ(finish(again), Applied::kYes);
  EXPECT_EQ(hold({{"k-2", "a:2"}}), std::vector{Place::kHeld});
  EXPECT_TRUE(take_lines().empty());
  advance(21s);
  const auto both = take_lines();
  ASSERT_EQ(payloads(both), (Payloads{"a:1", "a:2"}));
  park("m-1", both[0]);
  ASSERT_TRUE(records().unlock(m.key().id).value());
  EXPECT_EQ(finish(test::completed(acquire(m).lease)), Applied::kYes)
      << "its source brought it again";
  EXPECT_EQ(held().depth(consumer()).value().rows, 1U) << "the row of the record is gone";
}

TEST_P(HeldLinesSuite, AnothersHandKeepsALineFromMe) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const auto other = place().open();
  send({"a:1", "a:2", "b:1"});
  ASSERT_EQ(payloads(take_from(*other, 1)), Payloads{"a:1"});
  EXPECT_EQ(payloads(take_lines()), Payloads{"b:1"});
  advance(31s);
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:1", "a:2", "b:1"})) << "their time is over";
}

TEST_P(HeldLinesSuite, AnExpiredRowBehindOneInAnothersHandWaits) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const auto other = place().open();
  send({"a:1", "a:2"});
  const auto theirs = take_from(*other);
  ASSERT_EQ(theirs.size(), 2U);
  advance(20s);
  ASSERT_TRUE(other->facets().held->extend({&*theirs[0].row, 1}, 30s).has_value());
  advance(11s);
  EXPECT_TRUE(take_lines().empty());
}

TEST_P(HeldLinesSuite, ALineInAnothersHandStaysThere) {
  if (!durable()) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  const auto other = place().open();
  send({"a:1", "a:2"});
  const auto mine = take_lines();
  ASSERT_EQ(mine.size(), 2U);
  advance(31s);
  ASSERT_EQ(payloads(take_from(*other)), (Payloads{"a:1", "a:2"}));
  for (const Arrival& arrival : mine) release(arrival);
  EXPECT_TRUE(take_lines().empty());
  for (const Arrival& arrival : mine) release(arrival, 1s);
  advance(2s);
  EXPECT_TRUE(take_lines().empty());
  advance(29s);
  EXPECT_EQ(payloads(take_lines()), (Payloads{"a:1", "a:2"})) << "in their places";
}

TEST_P(HeldLinesSuite, AMessageGoesBehindWhatItsLineHolds) {
  send({"a:1"});
  const auto first = take_lines(1);
  EXPECT_EQ(hold({{"k-2", "a:2"}, {"k-3", "b:1"}, {"k-4", "a:3"}}),
            (std::vector{Place::kHeld, Place::kFree, Place::kHeld}));
  EXPECT_EQ(held().depth(consumer()).value().rows, 3U) << "what waits behind counts";
  EXPECT_EQ(held().lines(consumer()).value(), std::vector<Bytes>{"a"});
  remove(first[0]);
  const auto behind = take_lines();
  EXPECT_EQ(payloads(behind), (Payloads{"a:2", "a:3"}));
  EXPECT_EQ(behind[0].key, "k-2");
  EXPECT_TRUE(behind[0].fingerprint.has_value());
  for (const Arrival& arrival : behind) remove(arrival);
  EXPECT_TRUE(held().lines(consumer()).value().empty());
  EXPECT_EQ(hold({{"k-5", "a:4"}, {"k-6", "a:5"}}), (std::vector{Place::kFree, Place::kFree}));
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U) << "what is free is not kept";
}

TEST_P(HeldLinesSuite, AFullLineTakesNoMore) {
  send({"a:" + Bytes(100, 'x')});
  take_lines();
  EXPECT_EQ(
      hold({{"k-1", "a:" + Bytes(100, 'y')}, {"k-2", "a:" + Bytes(100, 'z')}, {"k-3", "a:s"}}, 250),
      (std::vector{Place::kHeld, Place::kFull, Place::kFull}))
      << "nothing overtakes what found no room";
  EXPECT_EQ(hold({{"k-4", "a:"}, {"k-5", "b:"}}, 1), (std::vector{Place::kFull, Place::kFree}))
      << "what is free needs no room";
  EXPECT_EQ(held().depth(consumer()).value().rows, 2U);
}

TEST_P(HeldLinesSuite, RoomComesBackAsTheLineGoes) {
  send({"a:" + Bytes(100, 'x')});
  const auto first = take_lines();
  EXPECT_EQ(hold({{"k-1", "a:" + Bytes(100, 'y')}}, 250), std::vector{Place::kHeld});
  EXPECT_EQ(hold({{"k-2", "a:" + Bytes(100, 'z')}}, 250), std::vector{Place::kFull});
  remove(first[0]);
  EXPECT_EQ(hold({{"k-2", "a:" + Bytes(100, 'z')}}, 250), std::vector{Place::kHeld});
}

TEST_P(HeldLinesSuite, LinesOfConsumersAreApart) {
  const ConsumerNumber other = attach("refunds");
  send({"a:1"});
  ASSERT_EQ(take_lines().size(), 1U);
  const OutgoingMessage theirs = held_message({}, "a:2");
  ASSERT_TRUE(held().append(other, {&theirs, 1}).has_value());
  EXPECT_EQ(held().take(other, 10, 1 << 20, 30s, line_of).value().size(), 1U);
  EXPECT_EQ(held().lines(other).value(), std::vector<Bytes>{"a"});
}

TEST_P(HeldLinesSuite, WhatFollowsARowThatAnotherSessionLocksIsNotHadBeforeIt) {
  send({"a:1", "b:1", "a:2", "a:3"});
  std::vector<Arrival> taken;
  if (place().lock_oldest_held()) {
    taken = take_lines();
    EXPECT_EQ(payloads(taken), Payloads{"b:1"}) << "the others of its line wait for a:1";
    place().let_go();
    for (Arrival& arrival : take_lines()) taken.push_back(std::move(arrival));
    EXPECT_EQ(payloads(taken), (Payloads{"b:1", "a:1", "a:2", "a:3"}));
    return;
  }
  // All of a store that locks no single row waits.
  std::jthread taker([&] { taken = take_lines(); });
  place().let_go();
  taker.join();
  EXPECT_EQ(payloads(taken), (Payloads{"a:1", "b:1", "a:2", "a:3"}));
}

TEST_P(HeldLinesSuite, ABacklogThatWaitsHidesNoOtherLine) {
  constexpr std::size_t kBacklog = 3'000;
  Payloads backlog;
  for (std::size_t i = 0; i < kBacklog; ++i) backlog.push_back("a:" + std::to_string(i));
  send(backlog);
  send({"b:1"});
  const auto first = take_lines(1);
  ASSERT_EQ(payloads(first), Payloads{"a:0"});
  release(first[0], 20s);
  Payloads taken;
  for (int takes = 0; taken.empty() && takes < 100; ++takes) taken = payloads(take_lines(1));
  EXPECT_EQ(taken, Payloads{"b:1"});
  EXPECT_TRUE(take_lines().empty()) << "what is behind a:0 waits";
  EXPECT_EQ(held().depth(consumer()).value().rows, kBacklog + 1);
  advance(21s);
  EXPECT_EQ(payloads(take_lines(3)), (Payloads{"a:0", "a:1", "a:2"}));
}

// Two takers; rows are given back, postponed and removed at random: at any time only the first rows
// of a line are taken, and in the end all have left in order.
TEST_P(HeldLinesSuite, WhateverHappensALineIsTakenFromItsFirst) {
  const auto second = durable() ? place().open() : nullptr;
  const int takers = second ? 2 : 1;
  Store* stores[] = {&store(), second.get()};
  std::mt19937 random(7);
  std::map<Bytes, int> sent, gone;
  std::vector<Arrival> hands[2];
  for (int step = 0; step < 600; ++step) {
    const int who = static_cast<int>(random() % static_cast<unsigned>(takers));
    auto& hand = hands[who];
    HeldMessages& rows = *stores[who]->facets().held;
    switch (random() % 4) {
      case 0: {
        const Bytes line(1, static_cast<char>('a' + random() % 3));
        if (step < 400) send({line + ":" + std::to_string(++sent[line])});
        break;
      }
      case 1:
        for (Arrival& arrival : take_from(*stores[who], 1 + random() % 5, 10min)) {
          hand.push_back(std::move(arrival));
        }
        break;
      case 2: {  // the first in hand of some line goes
        if (hand.empty()) break;
        const Arrival first = hand.front();
        hand.erase(hand.begin());
        ++gone[*first.line];
        EXPECT_EQ(first.payload, *first.line + ":" + std::to_string(gone[*first.line]));
        ASSERT_TRUE(rows.remove({&*first.row, 1}).has_value());
        break;
      }
      default: {  // the first in hand comes again later: all of its line is given back
        if (hand.empty()) break;
        const Arrival first = hand.front();
        ASSERT_TRUE(rows.release({&*first.row, 1}, random() % 2 == 0 ? 50ms : 0ms).has_value());
        for (const Arrival& other : hand) {
          if (other.row == first.row || other.line != first.line) continue;
          ASSERT_TRUE(rows.release({&*other.row, 1}, 0ms).has_value());
        }
        std::erase_if(hand, [&](const Arrival& a) { return a.line == first.line; });
        advance(20ms);
      }
    }
  }
  for (int round = 0; round < 1000 && gone != sent; ++round) {
    for (int who = 0; who < takers; ++who) {
      for (Arrival& arrival : take_from(*stores[who], 100, 10min)) {
        hands[who].push_back(std::move(arrival));
      }
      for (const Arrival& arrival : hands[who]) {
        ++gone[*arrival.line];
        EXPECT_EQ(arrival.payload, *arrival.line + ":" + std::to_string(gone[*arrival.line]));
        remove(arrival);
      }
      hands[who].clear();
    }
    advance(20ms);
  }
  EXPECT_EQ(gone, sent);
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
}

}  // namespace
}  // namespace semel::conformance
