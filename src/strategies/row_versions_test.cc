#include "strategies/row_versions.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/support/builders.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::strategies {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGrace{1'000};
constexpr milliseconds kLongest{400};
constexpr std::size_t kMost = 1'000;

VersionedMessage message(const std::string& key, std::int64_t version, unsigned char row = 1) {
  LockName name;
  name.bytes[0] = row;
  return {semel::test::make_message(ConsumerNumber{1}, key, "{}").key().id, {name, version}};
}

class RowVersionsTest : public ::testing::Test {
 protected:
  void ends(const VersionedMessage& message, Outcome::Kind kind) {
    Outcome outcome;
    outcome.kind = kind;
    (void)versions_.ended(message.key, outcome);
  }
  // Takes a turn and ends it immediately.
  void handle(const std::vector<VersionedMessage>& messages) {
    const auto turn = versions_.take_turn(messages);
  }
  // One attempt that finds the row at `version`, a while after the previous one.
  bool is_forgiven(const VersionedMessage& message, std::int64_t version) {
    clock_.advance(kGrace);
    handle({message});
    const bool forgiven = versions_.forgive(message.key, version).has_value();
    ends(message, Outcome::Kind::kRetry);
    return forgiven;
  }

  semel::test::ManualClock clock_;
  RowVersions versions_{clock_, kGrace, kLongest, kMost};
};

TEST_F(RowVersionsTest, ABatchAboutARowInHandWaitsForIt) {
  std::vector<int> order;
  std::thread second;
  {
    const std::vector<VersionedMessage> first = {message("a", 1)};
    const auto turn = versions_.take_turn(first);
    second = std::thread([&] {
      const std::vector<VersionedMessage> both = {message("b", 2), message("c", 1, 2)};
      const auto later = versions_.take_turn(both);
      order.push_back(2);
    });
    EXPECT_TRUE(semel::test::comes_true([&] { return versions_.waiting() == 1; }));
    handle({message("d", 1, 3)});  // another row: it does not wait
    order.push_back(1);
  }
  second.join();
  EXPECT_EQ(order, std::vector<int>({1, 2}));
}

TEST_F(RowVersionsTest, ABatchThatWaitsKeepsThoseBehindItWaiting) {
  std::thread second;
  std::thread third;
  std::vector<int> order;
  {
    const std::vector<VersionedMessage> first = {message("a", 1, 1)};
    const auto turn = versions_.take_turn(first);
    second = std::thread([&] {
      const std::vector<VersionedMessage> both = {message("b", 2, 1), message("c", 1, 2)};
      const auto later = versions_.take_turn(both);
      order.push_back(2);
    });
    EXPECT_TRUE(semel::test::comes_true([&] { return versions_.waiting() == 1; }));
    third = std::thread([&] {
      const std::vector<VersionedMessage> one = {message("d", 2, 2)};
      const auto later = versions_.take_turn(one);
      order.push_back(3);
    });
    EXPECT_TRUE(semel::test::comes_true([&] { return versions_.waiting() == 2; }));
  }
  second.join();
  third.join();
  EXPECT_EQ(order, std::vector<int>({2, 3}));
}

TEST_F(RowVersionsTest, TriesWithinTheGraceAreForgivenAndThoseBehindItAreNot) {
  const VersionedMessage alone = message("a", 9);
  handle({alone});
  EXPECT_TRUE(versions_.forgive(alone.key, 3));
  clock_.advance(kGrace - milliseconds(1));
  EXPECT_TRUE(versions_.forgive(alone.key, 3));
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(versions_.forgive(alone.key, 3));
  EXPECT_FALSE(is_forgiven(alone, 3));
}

TEST_F(RowVersionsTest, ATryIsForgivenWhereTheRowHasMovedSince) {
  const VersionedMessage late = message("a", 9);
  for (std::int64_t version = 1; version < 9; ++version) EXPECT_TRUE(is_forgiven(late, version));
  EXPECT_FALSE(is_forgiven(late, 8));
}

TEST_F(RowVersionsTest, ATryIsForgivenWhileAPredecessorIsNotSettled) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  const VersionedMessage other_row = message("d", 1, 2);
  handle({second});
  ends(second, Outcome::Kind::kRetry);
  handle({other_row});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(is_forgiven(third, 2));
  // A message below the row's version can no longer raise it.
  EXPECT_TRUE(is_forgiven(third, 1));
  handle({second});
  ends(second, Outcome::Kind::kDead);
  EXPECT_FALSE(is_forgiven(third, 1));
}

TEST_F(RowVersionsTest, APredecessorThatIsEarlyItselfIsNoReason) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  EXPECT_TRUE(is_forgiven(second, 1));
  EXPECT_TRUE(is_forgiven(third, 1));
  EXPECT_FALSE(is_forgiven(second, 1));
  EXPECT_FALSE(is_forgiven(third, 1));
}

TEST_F(RowVersionsTest, APredecessorThatWasEarlyAndIsNextNowIsAReason) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  EXPECT_TRUE(is_forgiven(second, 1));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_forgiven(third, 2)) << "it waits for its next try";
}

TEST_F(RowVersionsTest, APredecessorThatDoesNotComeBackHasEndedElsewhere) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  handle({second});
  ends(second, Outcome::Kind::kRetry);
  EXPECT_TRUE(is_forgiven(third, 1));
  EXPECT_TRUE(is_forgiven(third, 1));
  clock_.advance(std::chrono::hours(1));
  EXPECT_FALSE(is_forgiven(third, 1));
}

TEST_F(RowVersionsTest, WaitsGrowWhileNothingMoves) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  handle({second, third});
  milliseconds before{0};
  for (int i = 0; i < 40; ++i) {
    const auto wait = versions_.forgive(third.key, 1);
    ASSERT_TRUE(wait);
    EXPECT_TRUE(*wait > before || *wait == kLongest) << wait->count();
    before = *wait;
  }
  EXPECT_EQ(before, kLongest);
}

TEST_F(RowVersionsTest, AWaitIsAsLongAsTheRowsPaceSays) {
  const VersionedMessage far = message("z", 5);
  handle({far});
  for (std::int64_t version = 0; version < 3; ++version) {
    EXPECT_TRUE(versions_.forgive(far.key, version));
    clock_.advance(milliseconds(100));
  }
  // Two versions are left, which take 200 ms: the wait is a fraction of that.
  const auto wait = versions_.forgive(far.key, 3);
  ASSERT_TRUE(wait);
  EXPECT_GT(*wait, milliseconds(50));
  EXPECT_LT(*wait, milliseconds(200));
}

TEST_F(RowVersionsTest, ARowThatRestsIsLookedAtWithinTheGrace) {
  RowVersions patient(clock_, kGrace, std::chrono::hours(1));
  const VersionedMessage late = message("z", 9);
  const auto turn = patient.take_turn({&late, 1});
  std::optional<milliseconds> wait;
  const auto began = clock_.now();
  while ((wait = patient.forgive(late.key, 1))) {
    EXPECT_LE(*wait, kGrace / 2);
    clock_.advance(*wait);
  }
  EXPECT_GE(clock_.now() - began, kGrace);
  EXPECT_LE(clock_.now() - began, kGrace + kGrace / 2);
}

TEST_F(RowVersionsTest, WhatIsBehindAnEarlyMessageIsForeseen) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  handle({second, third});
  EXPECT_FALSE(versions_.foresee(third.key)) << "nobody has looked at the row";
  EXPECT_TRUE(versions_.forgive(second.key, 1));
  EXPECT_TRUE(versions_.is_behind(second.key));
  EXPECT_TRUE(versions_.foresee(third.key));
  EXPECT_FALSE(versions_.foresee(second.key)) << "it is the next one: it looks";
  clock_.advance(milliseconds(2'000));
  EXPECT_FALSE(versions_.foresee(third.key)) << "what was seen is old";
}

TEST_F(RowVersionsTest, WhatTheRowMayHaveByNowIsNotForeseen) {
  const VersionedMessage first = message("a", 1);
  const VersionedMessage second = message("b", 2);
  const VersionedMessage fourth = message("d", 4);
  handle({first, second, fourth});
  EXPECT_TRUE(versions_.forgive(fourth.key, 0));
  EXPECT_TRUE(versions_.forgive(fourth.key, 1));
  ends(first, Outcome::Kind::kDone);
  EXPECT_FALSE(versions_.is_behind(second.key));
  EXPECT_FALSE(versions_.foresee(second.key));
  EXPECT_TRUE(versions_.foresee(fourth.key));
}

TEST_F(RowVersionsTest, ARowThatDoesNotMoveKeepsNobodyFromHisTries) {
  const VersionedMessage second = message("b", 2);
  const VersionedMessage third = message("c", 3);
  bool foreseen = true;
  for (int i = 0; i < 100 && foreseen; ++i) {
    clock_.advance(milliseconds(100));
    handle({second, third});
    (void)versions_.forgive(second.key, 1);
    foreseen = versions_.foresee(third.key).has_value();
  }
  EXPECT_FALSE(foreseen);
  EXPECT_TRUE(is_forgiven(third, 1)) << "what was foreseen is no try";
  EXPECT_FALSE(is_forgiven(third, 1));
}

TEST_F(RowVersionsTest, WhatIsKeptIsRecalledWhenItsRowMoves) {
  const VersionedMessage first = message("a", 1);
  const VersionedMessage second = message("b", 2);
  const VersionedMessage other_row = message("c", 1, 2);
  handle({first, second, other_row});
  Outcome kept;
  kept.kind = Outcome::Kind::kRetry;
  kept.settle = Outcome::Settle::kKeep;
  Outcome done;
  EXPECT_FALSE(versions_.ended(second.key, kept));
  EXPECT_FALSE(versions_.ended(other_row.key, done));
  EXPECT_TRUE(versions_.ended(first.key, done));
  handle({first});
  Outcome dead;
  dead.kind = Outcome::Kind::kDead;
  EXPECT_FALSE(versions_.ended(first.key, dead)) << "the row has not moved";
  handle({first, second});
  EXPECT_FALSE(versions_.ended(first.key, done)) << "it is in hand again";
}

TEST_F(RowVersionsTest, WhoDoesNotComeBackIsForgottenWhereManyAreKnown) {
  std::vector<VersionedMessage> many;
  for (std::size_t i = 0; i < kMost; ++i) many.push_back(message(std::to_string(i), 1));
  handle(many);
  for (const VersionedMessage& one : many) ends(one, Outcome::Kind::kRetry);
  handle({message("a", 1)});
  EXPECT_EQ(versions_.known(), kMost) << "they may come back, and there is no room for another";
  clock_.advance(std::chrono::hours(1));
  handle({message("a", 1)});
  EXPECT_EQ(versions_.known(), 1U);
}

TEST_F(RowVersionsTest, WhatIsSettledIsForgotten) {
  const VersionedMessage first = message("a", 1);
  const VersionedMessage second = message("b", 2);
  handle({first, second});
  EXPECT_EQ(versions_.known(), 2U);
  ends(first, Outcome::Kind::kDone);
  ends(second, Outcome::Kind::kDuplicate);
  EXPECT_EQ(versions_.known(), 0U);
  EXPECT_FALSE(versions_.forgive(first.key, 0)) << "it is not in hand";
}

TEST_F(RowVersionsTest, ItemsOfARowStandInTheOrderOfTheirVersions) {
  std::vector<VersionedMessage> items = {message("a", 3, 1), message("b", 2, 2), message("c", 1, 1),
                                         message("d", 1, 2), message("e", 2, 1)};
  sort_by_version(items, [](const VersionedMessage& one) -> const RowVersion* {
    return one.based_on.version == 0 ? nullptr : &one.based_on;
  });
  std::vector<std::pair<int, std::int64_t>> found;
  for (const auto& one : items) {
    found.emplace_back(one.based_on.row.bytes[0], one.based_on.version);
  }
  const std::vector<std::pair<int, std::int64_t>> expected = {
      {1, 1}, {2, 1}, {1, 2}, {2, 2}, {1, 3}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace semel::strategies
