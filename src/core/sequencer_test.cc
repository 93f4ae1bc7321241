#include "core/sequencer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/key_encoding.h"

namespace semel::core {
namespace {

using Names = std::vector<std::string>;

// `name` is the payload and identifies it; `key` is the idempotency key.
TrackedDelivery delivery(std::string name, std::string ordering_key, std::string key = "",
                         bool suspect = false) {
  Message::Parts parts;
  parts.key.text = key.empty() ? ordering_key : key;
  parts.key.id = encode_key(ConsumerNumber{1}, parts.key.text);
  parts.ordering_key = std::move(ordering_key);
  parts.payload = std::move(name);
  Arrival arrival;
  arrival.suspect = suspect;
  return TrackedDelivery(Message(std::move(parts)), std::move(arrival));
}
TrackedDelivery suspect(std::string name, std::string ordering_key) {
  return delivery(std::move(name), std::move(ordering_key), "", true);
}
Names names(const std::vector<TrackedDelivery>& deliveries) {
  Names result;
  for (const TrackedDelivery& d : deliveries) result.emplace_back(d.message.payload());
  return result;
}

bool all(const TrackedDelivery&) { return true; }

struct SequencerTest : testing::Test {
  Sequencer sequencer;
  Names take(std::size_t max) { return names(sequencer.take(max)); }
};

TEST_F(SequencerTest, IsEmptyAtFirst) {
  EXPECT_FALSE(sequencer.ready());
  EXPECT_EQ(take(10), Names());
  EXPECT_EQ(names(sequencer.drain()), Names());
  sequencer.release({"nobody", true});
  EXPECT_EQ(sequencer.running(), 0U);
}

TEST_F(SequencerTest, GivesTheOldestFirst) {
  for (const char* name : {"a", "b", "c"}) sequencer.add(delivery(name, name));
  EXPECT_EQ(sequencer.waiting(), 3U);
  EXPECT_EQ(take(2), Names({"a", "b"}));
  EXPECT_EQ(sequencer.running(), 2U);
  EXPECT_EQ(sequencer.waiting(), 1U);
  EXPECT_EQ(take(0), Names());
  EXPECT_EQ(take(2), Names({"c"}));
  EXPECT_FALSE(sequencer.ready());
}

TEST_F(SequencerTest, AKeyIsOnlyOnesUntilReleased) {
  sequencer.add(delivery("a1", "a"));
  sequencer.add(delivery("a2", "a"));
  sequencer.add(delivery("b1", "b"));
  EXPECT_EQ(take(10), Names({"a1", "b1"}));
  EXPECT_FALSE(sequencer.ready());
  sequencer.add(delivery("a3", "a"));
  EXPECT_FALSE(sequencer.ready());
  sequencer.release({"a", true});
  EXPECT_TRUE(sequencer.ready());
  EXPECT_EQ(take(10), Names({"a2"}));
  sequencer.release({"b", true});
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"a3"}));
  sequencer.release({"a", true});
  EXPECT_EQ(sequencer.running(), 0U);
  EXPECT_FALSE(sequencer.ready());
}

TEST_F(SequencerTest, WhoWaitedBehindAKeyKeepsItsPlace) {
  sequencer.add(delivery("a1", "a"));
  sequencer.add(delivery("a2", "a"));
  EXPECT_EQ(take(1), Names({"a1"}));
  for (const char* name : {"b", "c"}) sequencer.add(delivery(name, name));
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"a2", "b", "c"}));
}

TEST_F(SequencerTest, ASecondReleaseIsIgnored) {
  sequencer.add(delivery("a1", "a"));
  sequencer.add(delivery("a2", "a"));
  take(1);
  sequencer.release({"a", true});
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"a2"}));
  EXPECT_EQ(take(10), Names());
}

TEST_F(SequencerTest, TwinsAreNeverOutTogetherWhateverTheirOrder) {
  sequencer.add(delivery("x1", "a", "key"));
  sequencer.add(delivery("x2", "b", "key"));
  sequencer.add(delivery("x3", "c", "key"));
  sequencer.add(delivery("y", "d", "other"));
  EXPECT_EQ(take(10), Names({"x1", "y"}));
  EXPECT_FALSE(sequencer.ready());
  sequencer.release({"d", true});
  EXPECT_FALSE(sequencer.ready());
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"x2"}));
  sequencer.release({"b", true});
  EXPECT_EQ(take(10), Names({"x3"}));
  sequencer.release({"c", true});
  EXPECT_EQ(sequencer.waiting() + sequencer.running(), 0U);
}

TEST_F(SequencerTest, ATwinBehindAnotherMessageWaitsToo) {
  sequencer.add(delivery("a1", "a", "k1"));
  sequencer.add(delivery("a2", "a", "k2"));
  sequencer.add(delivery("b1", "b", "k2"));
  EXPECT_EQ(take(10), Names({"a1", "b1"}));
  sequencer.release({"a", true});
  EXPECT_FALSE(sequencer.ready()) << "k2 is out under b";
  sequencer.release({"b", true});
  EXPECT_EQ(take(10), Names({"a2"}));
}

TEST_F(SequencerTest, SuspectsGoFirstAndWithoutAnyOther) {
  sequencer.add(delivery("a", "a"));
  sequencer.add(suspect("s1", "s1"));
  sequencer.add(suspect("s2", "s2"));
  sequencer.add(suspect("s3", "s3"));
  EXPECT_EQ(take(2), Names({"s1", "s2"}));
  EXPECT_FALSE(sequencer.ready());
  EXPECT_EQ(take(10), Names());
  sequencer.release({"s1", true});
  EXPECT_EQ(take(10), Names()) << "s2 is out";
  sequencer.release({"s2", true});
  EXPECT_EQ(take(10), Names({"s3"}));
  sequencer.release({"s3", true});
  EXPECT_EQ(take(10), Names({"a"}));
}

TEST_F(SequencerTest, ASuspectKeepsTheOrderOfItsKey) {
  sequencer.add(delivery("a1", "a"));
  sequencer.add(suspect("a2", "a"));
  sequencer.add(delivery("a3", "a"));
  sequencer.add(delivery("b", "b"));
  EXPECT_EQ(take(1), Names({"a1"}));
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"a2"}));
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"a3", "b"}));
}

TEST_F(SequencerTest, DrainGivesBackWhatDidNotStart) {
  sequencer.add(delivery("a1", "a"));
  sequencer.add(delivery("a2", "a"));
  sequencer.add(delivery("b", "b"));
  sequencer.add(delivery("twin", "c", "a"));
  sequencer.add(suspect("s", "s"));
  take(1);
  sequencer.release({"s", true});
  EXPECT_EQ(take(1), Names({"a1"}));
  EXPECT_EQ(names(sequencer.drain()), Names({"a2", "b", "twin"}));
  EXPECT_EQ(sequencer.waiting(), 0U);
  EXPECT_EQ(sequencer.running(), 1U);
  EXPECT_FALSE(sequencer.ready());
  sequencer.release({"a", true});
  EXPECT_EQ(sequencer.running(), 0U);
  sequencer.add(delivery("a4", "a"));
  sequencer.add(delivery("c2", "c", "a"));
  EXPECT_EQ(take(10), Names({"a4"}));
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"c2"}));
}

TEST_F(SequencerTest, AddingAfterADrainLinesUpBehindWhatRuns) {
  sequencer.add(delivery("a1", "a"));
  take(1);
  sequencer.drain();
  sequencer.add(delivery("a2", "a"));
  EXPECT_FALSE(sequencer.ready());
  sequencer.release({"a", true});
  EXPECT_EQ(take(1), Names({"a2"}));
}

TEST_F(SequencerTest, FollowersGoWithTheFirstOfTheirKey) {
  for (const char* name : {"a1", "a2", "b1", "a3", "b2"}) {
    sequencer.add(delivery(name, std::string(1, name[0]), name));
  }
  const auto batch = sequencer.take(4, true);
  EXPECT_EQ(names(batch), Names({"a1", "b1", "a2", "b2"})) << "the first of each key, then those";
  std::vector<bool> marks;
  for (const TrackedDelivery& one : batch) marks.push_back(one.follows);
  EXPECT_EQ(marks, std::vector({false, false, true, true}));
  EXPECT_EQ(sequencer.running(), 4U);
  sequencer.release({"a", true});
  EXPECT_FALSE(sequencer.ready()) << "its follower has not ended";
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"a3"}));
}

TEST_F(SequencerTest, ATwinDoesNotFollow) {
  sequencer.add(delivery("a1", "a", "one"));
  sequencer.add(delivery("a2", "a", "two"));
  sequencer.add(delivery("again", "a", "one"));
  sequencer.add(delivery("a4", "a", "four"));
  EXPECT_EQ(names(sequencer.take(10, true)), Names({"a1", "a2"}));
  sequencer.add(delivery("b1", "b", "two"));
  EXPECT_FALSE(sequencer.ready()) << "its key runs as a follower";
  sequencer.release({"a", true});
  sequencer.release({"a", true});
  EXPECT_EQ(take(10), Names({"again", "b1"}));
}

TEST_F(SequencerTest, AFollowerThatDidNotRunStandsWhereItStood) {
  for (const char* name : {"a1", "a2", "a3", "a4"}) sequencer.add(delivery(name, "a", name));
  auto batch = sequencer.take(3, true);
  ASSERT_EQ(names(batch), Names({"a1", "a2", "a3"}));
  sequencer.put_back(std::move(batch[2]));
  sequencer.put_back(std::move(batch[1]));
  EXPECT_FALSE(sequencer.ready()) << "the first runs still";
  sequencer.close({"a", true});
  sequencer.reopen(std::move(batch[0]));
  batch = sequencer.take(10, true);
  EXPECT_EQ(names(batch), Names({"a1", "a2", "a3", "a4"}));
}

// Its key is the ordering key of others; a row keeps their lane though its line is not written.
TEST_F(SequencerTest, AMessageWithoutAnOrderingKeyIsInNoOrderWithThoseOfThatName) {
  TrackedDelivery row = delivery("a2", "a", "two");
  row.arrival.row = RowTag{1};
  row.arrival.line = "a";
  sequencer.add(delivery("a1", "a", "one"));
  sequencer.add(delivery("alone", "", "a"));
  sequencer.add(std::move(row));
  EXPECT_EQ(take(10), Names({"a1", "alone"}));
  EXPECT_EQ(names(sequencer.withdraw({"a", true}, all)), Names({"a2"}));
  sequencer.release({"a", false});
  EXPECT_EQ(sequencer.running(), 1U);
  sequencer.release({"a", true});
  EXPECT_EQ(sequencer.running(), 0U);
}

TEST_F(SequencerTest, WithdrawalLeavesOthersOfTheKeyInTheirOrder) {
  for (const char* name : {"a1", "a2", "b3", "a4", "b5"}) {
    sequencer.add(delivery(name, "a", name));
  }
  take(1);
  const auto is_b = [](const TrackedDelivery& d) { return d.message.payload().front() == 'b'; };
  EXPECT_EQ(names(sequencer.withdraw({"a", true}, is_b)), Names({"b3", "b5"}));
  sequencer.add(delivery("a6", "a", "a6"));
  for (const char* name : {"a2", "a4", "a6"}) {
    sequencer.release({"a", true});
    EXPECT_EQ(take(10), Names{name});
  }
}

TEST_F(SequencerTest, OneContinuesOthersOfItsKeyAndOrigin) {
  const auto of = [](std::uint64_t generation) {
    TrackedDelivery made = delivery("next", "a");
    made.arrival.tag.generation = generation;
    return made;
  };
  EXPECT_FALSE(sequencer.continues(of(1), true)) << "there is none";
  sequencer.add(of(1));
  EXPECT_TRUE(sequencer.continues(of(1), true));
  EXPECT_FALSE(sequencer.continues(of(2), true));
  EXPECT_TRUE(sequencer.continues(of(2), false));
  EXPECT_FALSE(sequencer.continues(delivery("b", "b"), true));
  take(1);
  EXPECT_TRUE(sequencer.continues(of(1), true)) << "it runs";
  sequencer.add(of(1));
  sequencer.withdraw({"a", true}, all);
  EXPECT_FALSE(sequencer.continues(of(1), true)) << "one of them is elsewhere";
  sequencer.add(of(2));
  sequencer.withdraw_if([](const TrackedDelivery&) { return false; });
  EXPECT_TRUE(sequencer.continues(of(2), true));
  sequencer.withdraw_if([](const TrackedDelivery&) { return true; });
  EXPECT_FALSE(sequencer.continues(of(2), true));
  sequencer.release({"a", true});
  EXPECT_FALSE(sequencer.continues(of(1), true)) << "none is left";
}

TEST_F(SequencerTest, OrderingKeysAreBytes) {
  const std::string nul("\0", 1), two_nuls("\0\0", 2), long_key(100'000, 'x');
  for (const std::string& key : {std::string(), nul, two_nuls, long_key, std::string("\xFF")}) {
    sequencer.add(delivery("m", key, "k" + key));
  }
  EXPECT_EQ(take(10).size(), 5U);
}

}  // namespace
}  // namespace semel::core
