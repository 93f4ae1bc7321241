// The purge of a file when the time, the budget or another process interrupts it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/step_store.h>

#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

// Lets a test act in the middle of a purge, which reads the elapsed time between its parts.
class ClockWithAMoment final : public StoreClock {
 public:
  explicit ClockWithAMoment(std::shared_ptr<MovedStoreClock> clock) : clock_(std::move(clock)) {}
  StoreTime now() noexcept override { return clock_->now(); }
  std::chrono::nanoseconds elapsed() noexcept override {
    if (then_ && --looks_ == 0) std::exchange(then_, {})();
    return clock_->elapsed();
  }
  // Runs `then` at this number of reads from now on.
  void at_look(int number, std::function<void()> then) {
    looks_ = number;
    then_ = std::move(then);
  }
  bool waits() const noexcept { return static_cast<bool>(then_); }

 private:
  const std::shared_ptr<MovedStoreClock> clock_;
  int looks_ = 0;
  std::function<void()> then_;
};

// The reads of a purge: when it begins, when it checks the clock, and after each part that it
// found.
constexpr int kCheckOfTheClock = 2;
constexpr int kFirstPart = 3;
constexpr int kSecondPart = 4;

class PurgeTest : public SqliteTest {
 protected:
  PurgeTest() { store_ = open_store(options(), moment_).value(); }

  // Their ids are in the order of their numbers.
  static std::vector<Message> ordered(ConsumerNumber consumer, std::size_t count) {
    std::vector<Message> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(
          test::make_message(consumer, fmt::format("10000000-0000-7000-8000-{:012}", i)));
    }
    return made;
  }
  void finish(const Message& message, std::string result, bool inbox) {
    Finish done = test::completed(acquire(*store_, message), std::move(result));
    done.inbox = inbox;
    if (inbox) done.keep = &message;
    ASSERT_TRUE(store_->finish({&done, 1}).has_value());
  }
  std::string result_of(const Message& message) {
    ClaimOptions options;
    options.want_result = true;
    return std::get<Completed>(claim(*store_, message, options)).result;
  }

  std::shared_ptr<ClockWithAMoment> moment_ = std::make_shared<ClockWithAMoment>(clock_);
  std::unique_ptr<Store> store_;
};

TEST_F(PurgeTest, WhatHalfOfItLeavesNamesNoRowOfANewMessage) {
  for (const bool inbox : {false, true}) {
    SCOPED_TRACE(inbox ? "inbox" : "result");
    const ConsumerNumber consumer = attach(*store_, inbox ? "received" : "payments", 1h);
    const auto old = ordered(consumer, 600);
    // The greatest numbers are purged first, and used again.
    for (auto one = old.rbegin(); one != old.rend(); ++one) finish(*one, "old", inbox);
    clock_->advance(3h);
    moment_->at_look(kSecondPart, [this] { clock_->advance(1min); });
    EXPECT_TRUE(store_->purge(1s).value().more);
    ASSERT_FALSE(moment_->waits());
    ASSERT_EQ(one(fmt::format("SELECT count(*) FROM semel_{}", inbox ? "inbox" : "result")), "100");

    const Message fresh = test::make_message(consumer, "fresh");
    finish(fresh, "new", inbox);
    for (const Message& message : old) {
      const Claim answer = claim(*store_, message, {});
      ASSERT_TRUE(std::holds_alternative<Completed>(answer));
      ASSERT_NE(result_of(message), "new") << message.key().text;
    }
    EXPECT_EQ(store_->purge(10s).value().records, 600U);
    EXPECT_EQ(result_of(fresh), "new");
    clock_->advance(3h);
    ASSERT_EQ(store_->purge(10s).value().records, 1U);
  }
}

TEST_F(PurgeTest, AnotherProcessThatWasQuickerLeavesNothingToTakeTwice) {
  const ConsumerNumber consumer = attach(*store_, "payments", 1h);
  const auto old = ordered(consumer, 10);
  for (const Message& message : old) finish(message, "old", false);
  const auto other = open();
  clock_->advance(3h);
  const Message fresh = test::make_message(consumer, "fresh");
  moment_->at_look(kFirstPart, [&] {
    EXPECT_EQ(other->purge(10s).value().records, 10U);
    finish(fresh, "new", false);
  });
  const auto purged = store_->purge(10s);
  ASSERT_FALSE(moment_->waits());
  ASSERT_TRUE(purged.has_value()) << purged.error().message;
  EXPECT_EQ(purged->records, 0U);
  EXPECT_EQ(result_of(fresh), "new");
}

TEST_F(PurgeTest, ATtlThatGrewMeanwhileIsKept) {
  const ConsumerNumber consumer = attach(*store_, "payments", 1h);
  const auto old = ordered(consumer, 10);
  for (const Message& message : old) finish(message, "old", false);
  const auto other = open();
  clock_->advance(3h);
  moment_->at_look(kFirstPart, [&] { attach(*other, "payments", 48h); });
  EXPECT_EQ(store_->purge(10s).value().records, 0U);
  ASSERT_FALSE(moment_->waits());
  for (const Message& message : old) EXPECT_EQ(result_of(message), "old");
}

TEST_F(PurgeTest, AClockThatJumpsInTheMiddleForgetsNothing) {
  const ConsumerNumber consumer = attach(*store_, "payments", 1h);
  complete(*store_, ordered(consumer, 10));
  moment_->at_look(kCheckOfTheClock, [this] { clock_->jump(24h * 30); });
  EXPECT_EQ(store_->purge(10s).value().records, 0U);
  ASSERT_FALSE(moment_->waits());
  EXPECT_EQ(complete(*store_, ordered(consumer, 10)), 0U);
}

TEST_F(PurgeTest, DeadRecordsThatAreKeptForTheirLettersHoldUpNoOther) {
  const ConsumerNumber consumer = attach(*store_, "payments", 1h);
  const auto all = ordered(consumer, 600);
  StepEntry step;
  step.name = "lock_stock";
  const StoreFacets facets = store_->facets();
  for (const Message& message : all) {
    const Lease lease = acquire(*store_, message);
    if (&message != &all.back()) {
      ASSERT_EQ(facets.steps->keep(lease, step).value(), Applied::kYes);
    }
    const Finish dead = test::dead(lease, &message);
    ASSERT_TRUE(store_->finish({&dead, 1}).has_value());
  }
  clock_->advance(3h);
  EXPECT_EQ(store_->purge(1s).value().records, 1U);
  EXPECT_FALSE(facets.records->show(all.back().key().id).value());

  DeadLetterFilter filter;
  filter.limit = all.size();
  const auto listed = facets.dead_letters->list(filter).value();
  std::vector<std::int64_t> letters;
  for (const DeadLetter& letter : listed) letters.push_back(letter.id);
  ASSERT_EQ(facets.dead_letters->discard(letters).value(), all.size());
  EXPECT_EQ(store_->purge(1s).value().records, all.size() - 1);
  EXPECT_EQ(one("SELECT count(*) FROM semel_step"), "0");
}

}  // namespace
}  // namespace semel::sqlite
