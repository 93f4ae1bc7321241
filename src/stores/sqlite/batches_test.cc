// Claims and completions that are written many in one statement: each has an answer of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "stores/sqlite/generation.h"
#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

// More than one statement takes, and a rest.
constexpr std::size_t kMany = 2 * Generation::kTogether + 5;

class BatchesTest : public SqliteTest {
 protected:
  BatchesTest() : store_(open()), consumer_(attach(*store_)) {}

  std::vector<Claim> claim_all(const std::vector<Message>& messages) {
    std::vector<const Message*> all;
    for (const Message& message : messages) all.push_back(&message);
    return store_->claim(all, {}).value();
  }
  std::vector<Finish> completions(const std::vector<Message>& messages) {
    std::vector<Finish> all;
    for (const Claim& claim : claim_all(messages)) {
      all.push_back(test::completed(std::get<Acquired>(claim).lease));
    }
    return all;
  }
  Bytes result_of(const Message& message) {
    return store_->facets().records->show(message.key().id).value()->result;
  }

  const std::unique_ptr<Store> store_;
  const ConsumerNumber consumer_;
};

TEST_F(BatchesTest, EachKeyOfAClaimIsAnsweredForItself) {
  std::vector<Message> messages = test::make_messages(consumer_, "m", kMany);
  acquire(*store_, messages[2]);
  complete(*store_, {messages[7]});
  messages[11] = messages[3];  // one key twice
  const auto claims = claim_all(messages);
  std::set<Token> tokens;
  std::vector<Finish> finishes;
  for (std::size_t i = 0; i < kMany; ++i) {
    const auto* const acquired = std::get_if<Acquired>(&claims[i]);
    if (i == 2) {
      EXPECT_TRUE(std::holds_alternative<Busy>(claims[i]));
    } else if (i == 7) {
      EXPECT_TRUE(std::holds_alternative<Completed>(claims[i]));
    } else if (acquired != nullptr) {
      EXPECT_EQ(acquired->attempt, 1);
      EXPECT_EQ(acquired->lease.key, messages[i].key().id);
      tokens.insert(acquired->lease.token);
      finishes.push_back(test::completed(acquired->lease));
    }
  }
  EXPECT_EQ(tokens.size(), kMany - 3);
  const bool twice =
      std::holds_alternative<Acquired>(claims[3]) && std::holds_alternative<Acquired>(claims[11]);
  EXPECT_FALSE(twice);
  const auto applied = store_->finish(finishes).value();
  EXPECT_EQ(std::ranges::count(applied, Applied::kYes), static_cast<long>(finishes.size()));
}

TEST_F(BatchesTest, AKeyOfAClaimThatIsDueIsTakenOver) {
  const std::vector<Message> messages = test::make_messages(consumer_, "m", kMany);
  const Lease before = acquire(*store_, messages[4]);
  clock_->advance(1h);
  const auto claims = claim_all(messages);
  for (std::size_t i = 0; i < kMany; ++i) {
    const auto& acquired = std::get<Acquired>(claims[i]);
    EXPECT_EQ(acquired.attempt, i == 4 ? 2 : 1);
    EXPECT_EQ(acquired.taken_over, i == 4);
  }
  const Finish late = test::completed(before);
  EXPECT_EQ(store_->finish({&late, 1}).value().front(), Applied::kLeaseLost);
}

TEST_F(BatchesTest, ALeaseThatIsLostHarmsNoOther) {
  const std::vector<Message> messages = test::make_messages(consumer_, "m", kMany);
  std::vector<Finish> finishes = completions(messages);
  finishes[1].lease->nonce = Nonce{};
  finishes[12] = finishes[13];  // the same lease twice
  finishes[5].result = "five";
  finishes[21].result = "twenty-one";
  const auto applied = store_->finish(finishes).value();
  for (std::size_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(applied[i], i == 1 || i == 13 ? Applied::kLeaseLost : Applied::kYes) << i;
  }
  EXPECT_EQ(result_of(messages[5]), "five");
  EXPECT_EQ(result_of(messages[21]), "twenty-one");
  EXPECT_FALSE(is_completed(*store_, messages[1]));
  EXPECT_EQ(one("SELECT count(*) FROM semel_completed_1"), std::to_string(kMany - 2));
  EXPECT_EQ(one("SELECT count(*) FROM semel_live"), "2");
}

TEST_F(BatchesTest, WhatAnotherHolderHasCompletedStays) {
  const std::vector<Message> messages = test::make_messages(consumer_, "m", Generation::kTogether);
  std::vector<Finish> finishes = completions(messages);
  clock_->advance(1h);
  const Finish by_other = test::completed(acquire(*store_, messages[6]), "of the other");
  ASSERT_EQ(store_->finish({&by_other, 1}).value().front(), Applied::kYes);
  for (Finish& one : finishes) one.result = "mine";
  const auto applied = store_->finish(finishes).value();
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    EXPECT_EQ(applied[i], i == 6 ? Applied::kLeaseLost : Applied::kYes) << i;
    EXPECT_EQ(result_of(messages[i]), i == 6 ? "of the other" : "mine");
  }
}

}  // namespace
}  // namespace semel::sqlite
