#include "operate/letters.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <semel/memory.h>
#include <semel/reason.h>

#include "operate/cause.h"

namespace semel::operate {
namespace {

constexpr const char* kTwoConsumers =
    "version: 1\n"
    "store: { memory: {} }\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n"
    "  - { name: refunds, source: { file: { path: in } }, key: json:/id, handler: { native: pay } "
    "}\n";

class LetterWalkTest : public ::testing::Test {
 protected:
  LetterWalkTest()
      : config_(config::load_text(kTwoConsumers, "semel.yaml").config.value()),
        store_(make_memory_store()) {
    for (const char* name : {"payments", "refunds", "elsewhere"}) {
      EXPECT_TRUE(store_->attach({name, "recipe", false, {}}));
    }
  }

  void add(const std::string& consumer, const std::string& reason, const std::string& error,
           int count, int died_ms) {
    std::vector<ForeignLetter> letters;
    for (int i = 0; i < count; ++i) {
      DeadLetter letter;
      letter.consumer = consumer;
      letter.reason = reason;
      letter.error = error;
      letter.position = std::to_string(added_++);
      letter.dead_at = StoreTime(std::chrono::milliseconds(died_ms + i));
      letters.push_back({std::move(letter), std::nullopt});
    }
    ASSERT_EQ(store_->facets().dead_letters->add(letters).value().added,
              static_cast<std::size_t>(count));
  }

  std::vector<std::string> walk(LetterQuery query, std::optional<std::int64_t>* next = nullptr) {
    std::vector<std::string> positions;
    const auto walked =
        walk_letters({config_, *store_, store_->facets()}, query,
                     [&](const DeadLetter& letter) { positions.push_back(letter.position); });
    EXPECT_TRUE(walked);
    if (next != nullptr) *next = walked->next;
    foreign_ = walked->foreign;
    return positions;
  }

  const config::Config config_;
  const std::unique_ptr<Store> store_;
  int added_ = 0;
  std::size_t foreign_ = 0;
};

LetterQuery at_most(std::size_t limit) {
  LetterQuery query;
  query.limit = limit;
  return query;
}

TEST_F(LetterWalkTest, PagesFollowEachOtherWithoutAGapOrATwin) {
  add("payments", "crash", "", 5, 0);
  LetterQuery query = at_most(2);
  std::vector<std::string> all;
  int pages = 0;
  for (std::optional<std::int64_t> next = 0; next; ++pages) {
    query.after = *next;
    for (std::string& position : walk(query, &next)) all.push_back(std::move(position));
  }
  EXPECT_EQ(all, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(pages, 3);
}

TEST_F(LetterWalkTest, APageWhoseTimeIsOverSaysHowToGoOn) {
  add("payments", "crash", "", 2'500, 0);
  LetterQuery query = at_most(10'000);
  query.until = std::chrono::steady_clock::now();
  std::optional<std::int64_t> next;
  const std::size_t first = walk(query, &next).size();
  EXPECT_EQ(first, 1U) << "the time is checked after each letter";
  ASSERT_TRUE(next);
  query.after = *next;
  query.until.reset();
  EXPECT_EQ(first + walk(query, &next).size(), 2'500U);
  EXPECT_FALSE(next);
}

TEST_F(LetterWalkTest, AFilterThatMatchesLittleWalksToTheEnd) {
  add("payments", "crash", "", 700, 0);
  add("payments", "rare", "", 1, 0);
  add("payments", "crash", "", 700, 0);
  LetterQuery query = at_most(2);
  query.reason = "rare";
  std::optional<std::int64_t> next;
  EXPECT_EQ(walk(query, &next), (std::vector<std::string>{"700"}));
  EXPECT_FALSE(next);
  query.limit = 1;
  EXPECT_EQ(walk(query, &next).size(), 1U);
  ASSERT_TRUE(next);
  query.after = *next;
  EXPECT_TRUE(walk(query, &next).empty());
  EXPECT_FALSE(next);
}

TEST_F(LetterWalkTest, LettersOfOtherConsumersAreCountedUnlessTheyAreNamed) {
  add("payments", "crash", "", 1, 0);
  add("elsewhere", "crash", "", 2, 0);
  EXPECT_EQ(walk(at_most(10)).size(), 1U);
  EXPECT_EQ(foreign_, 2U);
  LetterQuery query = at_most(10);
  query.consumer = "elsewhere";
  EXPECT_EQ(walk(query).size(), 2U);
}

TEST_F(LetterWalkTest, TheLastLetterIsFoundAlsoBehindGaps) {
  const StoreAccess access{config_, *store_, store_->facets()};
  EXPECT_EQ(last_letter(access), 0);
  DeadLetters& letters = *store_->facets().dead_letters;
  for (int count = 1; count < 20; ++count) {
    add("elsewhere", "handler.native", "one", 1, 0);
    const std::int64_t last = letters.list({}).value().back().id;
    EXPECT_EQ(last_letter(access), last);
    if (count % 3 == 0) {
      const std::int64_t first = letters.list({}).value().front().id;
      ASSERT_TRUE(letters.discard({&first, 1}));
      EXPECT_EQ(last_letter(access), last);
    }
  }
}

TEST_F(LetterWalkTest, GroupsAreByConsumerReasonAndCause) {
  add("payments", "handler.native", "one", 2, 1'000);
  add("refunds", "handler.native", "one", 1, 0);
  add("payments", std::string(reason::kAttemptsExhausted), "handler.http.503: away", 3, 2'000);
  add("payments", std::string(reason::kAttemptsExhausted), "handler.http.500: no", 1, 0);
  const auto made = group_letters({config_, *store_, store_->facets()}, at_most(1'000), 10);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->groups.size(), 4U);
  const LetterGroup& first = made->groups[0];
  EXPECT_EQ(first.cause, "handler.http.503");
  EXPECT_EQ(first.count, 3U);
  EXPECT_EQ(first.oldest, StoreTime(std::chrono::milliseconds(2'000)));
  EXPECT_EQ(first.newest, StoreTime(std::chrono::milliseconds(2'002)));
  EXPECT_EQ(first.newest_error, "handler.http.503: away");
  EXPECT_EQ(made->groups[1].reason, "handler.native");
  EXPECT_EQ(made->groups[1].consumer, "payments");
  EXPECT_EQ(made->groups[1].count, 2U);
  EXPECT_EQ(made->walk.seen, 7U);
  EXPECT_FALSE(made->walk.next);
}

TEST_F(LetterWalkTest, GroupsPastTheLimitAreCounted) {
  for (int i = 0; i < 4; ++i) add("payments", fmt::format("reason_{}", i), "", 2, 0);
  const auto made = group_letters({config_, *store_, store_->facets()}, at_most(1'000), 3);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->groups.size(), 3U);
  EXPECT_EQ(made->ungrouped, 2U);
}

}  // namespace
}  // namespace semel::operate
