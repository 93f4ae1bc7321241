#include "core/delivery_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace semel::core {
namespace {

using Kind = Settlement::Kind;
using Texts = DeliveryLedger<std::string>;

Texts with_arrived(std::uint64_t count) {
  Texts ledger;
  for (std::uint64_t i = 1; i <= count; ++i) ledger.arrived(i, std::to_string(i));
  return ledger;
}

TEST(DeliveryLedger, WhatArrivedWaitsUntilItIsTaken) {
  Texts ledger = with_arrived(2);
  EXPECT_TRUE(ledger.has_waiting());
  EXPECT_FALSE(ledger.settle(1, Kind::kAck)) << "it waits";
  EXPECT_EQ(ledger.out(), 0U);
  EXPECT_EQ(ledger.take().position, 1U);
  EXPECT_EQ(*ledger.take().value, "2");
  EXPECT_EQ(ledger.take().value, nullptr);
  EXPECT_FALSE(ledger.has_waiting());
  EXPECT_EQ(ledger.out(), 2U);
  EXPECT_TRUE(ledger.settle(1, Kind::kAck));
  EXPECT_FALSE(ledger.settle(1, Kind::kAck)) << "settled before";
  EXPECT_EQ(ledger.prefix(), 1U);
  EXPECT_EQ(ledger.open(), 1U);
}

TEST(DeliveryLedger, WhatIsGivenBackComesFirstAndTheLowestOfIt) {
  Texts ledger = with_arrived(4);
  for (int i = 0; i < 3; ++i) (void)ledger.take();
  EXPECT_TRUE(ledger.settle(3, Kind::kLater));
  EXPECT_TRUE(ledger.settle(2, Kind::kRelease));
  EXPECT_EQ(ledger.given_back(), 2U);
  EXPECT_FALSE(ledger.settle(2, Kind::kAck)) << "it waits";
  EXPECT_EQ(ledger.take().position, 2U);
  EXPECT_EQ(*ledger.take().value, "3") << "it is kept until it is settled";
  EXPECT_EQ(ledger.take().position, 4U);
  EXPECT_FALSE(ledger.prefix());
  EXPECT_EQ(ledger.first_open(), 1U);
}

// Keeps its content when it is assigned, as a string keeps its memory.
struct Keeping {
  std::shared_ptr<int> held{};

  Keeping() = default;
  explicit Keeping(std::shared_ptr<int> value) : held(std::move(value)) {}
  Keeping(Keeping&&) = default;
  Keeping& operator=(Keeping&&) noexcept { return *this; }
};

TEST(DeliveryLedger, AValueGoesWithItsSettlementAndNotBefore) {
  DeliveryLedger<Keeping> ledger;
  const auto value = std::make_shared<int>(1);
  ledger.handed_out(10, {});
  ledger.handed_out(20, Keeping(value));
  EXPECT_TRUE(ledger.settle(20, Kind::kRelease));
  EXPECT_EQ(value.use_count(), 2);
  EXPECT_EQ(ledger.take().value->held, value);
  EXPECT_TRUE(ledger.settle(20, Kind::kGone));
  EXPECT_EQ(value.use_count(), 1) << "the prefix has not passed it";
  EXPECT_FALSE(ledger.prefix());
}

TEST(DeliveryLedger, TheLastValueThatWasPassedIsKeptWhereItIsAskedFor) {
  DeliveryLedger<std::string, Keeps::kUntilPassed> ledger;
  for (const std::uint64_t position : {5, 7, 9}) {
    ledger.handed_out(position, std::to_string(position));
  }
  EXPECT_TRUE(ledger.settle(7, Kind::kAck));
  EXPECT_FALSE(ledger.last_passed());
  EXPECT_TRUE(ledger.settle(5, Kind::kAck));
  EXPECT_EQ(ledger.last_passed(), "7");
  EXPECT_EQ(ledger.prefix(), 7U);
}

TEST(DeliveryLedger, NumbersStayWhereTheyAreWhileThePrefixMoves) {
  Texts ledger;
  for (const std::uint64_t position : {3, 4, 8}) {
    ledger.handed_out(position, std::to_string(position));
  }
  EXPECT_EQ(*ledger.open_value(2), "8");
  EXPECT_TRUE(ledger.settle(4, Kind::kAck));
  EXPECT_EQ(ledger.open_value(1), nullptr);
  EXPECT_EQ(ledger.passed(), 0U);
  EXPECT_TRUE(ledger.settle(3, Kind::kAck));
  EXPECT_EQ(ledger.passed(), 2U);
  EXPECT_EQ(ledger.end(), 3U);
  EXPECT_EQ(*ledger.open_value(2), "8");
}

// Compared with a model that keeps the state of every position by name.
TEST(DeliveryLedger, AgreesWithANaiveModel) {
  enum class State { kWaits, kOut, kSettled };
  std::mt19937_64 random(20'261'126);
  for (int round = 0; round < 200; ++round) {
    Texts ledger;
    std::map<std::uint64_t, State> model;
    std::uint64_t next = 1;
    for (int step = 0; step < 200; ++step) {
      const auto chance = random() % 10;
      if (chance < 3) {
        next += 1 + (random() % 4 == 0 ? random() % 5 : 0);
        ledger.arrived(next, std::to_string(next));
        model[next] = State::kWaits;
      } else if (chance < 6) {
        const auto lowest = std::find_if(model.begin(), model.end(), [](const auto& each) {
          return each.second == State::kWaits;
        });
        const auto taken = ledger.take();
        ASSERT_EQ(taken.value != nullptr, lowest != model.end());
        if (taken.value == nullptr) continue;
        ASSERT_EQ(taken.position, lowest->first);
        ASSERT_EQ(*taken.value, std::to_string(taken.position));
        lowest->second = State::kOut;
      } else {
        const std::uint64_t position = random() % (next + 2);
        const bool back = random() % 4 == 0;
        const auto known = model.find(position);
        const bool out = known != model.end() && known->second == State::kOut;
        ASSERT_EQ(ledger.settle(position, back ? Kind::kRelease : Kind::kAck), out);
        if (out) known->second = back ? State::kWaits : State::kSettled;
      }
      std::size_t open = 0;
      std::size_t out = 0;
      std::optional<std::uint64_t> prefix;
      for (const auto& [position, state] : model) {
        open += state != State::kSettled ? 1 : 0;
        out += state == State::kOut ? 1 : 0;
        if (open == 0) prefix = position;
      }
      ASSERT_EQ(ledger.open(), open);
      ASSERT_EQ(ledger.out(), out);
      ASSERT_EQ(ledger.prefix(), prefix);
      ASSERT_EQ(ledger.has_waiting(), open > out);
    }
  }
}

}  // namespace
}  // namespace semel::core
