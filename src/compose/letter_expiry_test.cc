#include "compose/letter_expiry.h"

#include <gtest/gtest.h>

#include <map>

#include <semel/memory.h>

#include "core/key_recipe.h"
#include "tests/support/builders.h"

namespace semel::compose {
namespace {

using namespace std::chrono_literals;

class LetterExpiryTest : public testing::Test {
 protected:
  LetterExpiryTest() : store_(make_memory_store()) {}

  ConsumerNumber attach(const std::string& name) {
    const auto recipe = core::KeyRecipe();
    return store_->attach({name, recipe.hash(), false, std::nullopt}).value();
  }
  void bury(ConsumerNumber consumer, std::size_t letters) {
    for (std::size_t i = 0; i < letters; ++i) {
      const Message message = test::make_message(consumer, "k" + std::to_string(i), "{}");
      Finish finish;
      finish.to = Finish::To::kDead;
      finish.reason = "key.conflict";
      finish.keep = &message;
      ASSERT_TRUE(store_->finish({&finish, 1}).value().at(0) == Applied::kYes);
    }
  }
  static config::ConsumerConfig consumer(std::string name,
                                         std::optional<config::milliseconds> life) {
    config::ConsumerConfig made;
    made.name = std::move(name);
    made.dead_letters_expire = life;
    return made;
  }
  LetterExpiry expiry(const std::vector<config::ConsumerConfig>& consumers) {
    return LetterExpiry::of(*store_, consumers).value();
  }
  std::size_t left() { return store_->facets().dead_letters->list({}).value().size(); }
  LetterExpiry::Told told() {
    return [this](std::string_view name, std::size_t letters) {
      removed_[std::string(name)] += letters;
    };
  }

  std::unique_ptr<Store> store_;
  std::map<std::string, std::size_t> removed_;
};

TEST_F(LetterExpiryTest, RemovesOfEachConsumerWhatIsPastItsTime) {
  bury(attach("orders"), 3);
  bury(attach("kept"), 2);
  bury(attach("young"), 1);
  auto expiry = this->expiry({consumer("orders", 0ms), consumer("kept", std::nullopt),
                              consumer("young", 24h), consumer("unknown", 0ms)});
  EXPECT_EQ(expiry.run(24h, told()).value(), false);
  EXPECT_EQ(removed_, (std::map<std::string, std::size_t>{{"orders", 3}}));
  EXPECT_EQ(left(), 3U);
}

TEST_F(LetterExpiryTest, GoesOnWhereTheBudgetEnded) {
  constexpr std::size_t kLetters = 95;
  const ConsumerNumber orders = attach("orders");
  bury(attach("kept"), kLetters);
  bury(orders, kLetters);
  auto expiry = this->expiry({consumer("orders", 0ms)});
  EXPECT_EQ(expiry.run(0ms, told()).value(), true) << "one part, whatever the budget is";
  const std::size_t first = removed_["orders"];
  EXPECT_LT(first, kLetters);
  while (expiry.run(0ms, told()).value()) {
  }
  EXPECT_EQ(removed_["orders"], kLetters);
  EXPECT_EQ(left(), kLetters);
  bury(orders, 1);
  EXPECT_EQ(expiry.run(24h, told()).value(), false);
  EXPECT_EQ(removed_["orders"], kLetters + 1) << "it begins at the first one again";
}

TEST_F(LetterExpiryTest, WhereNobodyAskedForItTheStoreIsNotAsked) {
  bury(attach("kept"), 1);
  auto expiry = this->expiry({consumer("kept", std::nullopt)});
  EXPECT_EQ(expiry.run(24h, told()).value(), false);
  EXPECT_TRUE(removed_.empty());
  EXPECT_EQ(left(), 1U);
}

}  // namespace
}  // namespace semel::compose
