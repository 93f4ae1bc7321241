// A disk that forgets unsynced writes, and one that is full.
#include <gtest/gtest.h>

#include <random>

#include "stores/sqlite/test_place.h"
#include "tests/support/test_environment.h"
#include "tests/support/unsynced_vfs.h"

namespace semel::sqlite {
namespace {

class PowerCutTest : public SqliteTest {
 protected:
  PowerCutTest() {
    vfs_ = test::UnsyncedVfs::name();
    store_ = open();
    consumer_ = attach(*store_);
  }
  // The machine goes down and boots again.
  void cut(const std::function<bool()>& keep = nullptr) {
    lost_ = disk_.cut_power(keep);
    store_.reset();
    disk_.restore_power(path_);
    store_ = open();
    ASSERT_NE(store_, nullptr);
    EXPECT_EQ(attach(*store_), consumer_);
    EXPECT_EQ(check(), "ok");
  }
  std::string check() {
    const auto look = store_->facets().transactional->begin({.only_looks = true}).value();
    RecordedStatement all;
    all.statement = admit_statement("SELECT count(*) FROM sqlite_master").value();
    const auto rows = look->query(0, all);
    return rows ? "ok" : rows.error().message;
  }
  Message message(const std::string& key) const { return test::make_message(consumer_, key); }

  test::UnsyncedVfs disk_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
  std::size_t lost_ = 0;
};

TEST_F(PowerCutTest, WhatWasAnsweredSurvives) {
  const Message unit = message("unit");
  complete(*store_, {unit});
  cut();
  EXPECT_TRUE(is_completed(*store_, unit));

  const Message finished = message("finished");
  const Finish done = test::completed(acquire(*store_, finished));
  ASSERT_TRUE(store_->finish({&done, 1}).has_value());
  cut();
  EXPECT_TRUE(is_completed(*store_, finished));

  const OutgoingMessage one = row("row");
  ASSERT_TRUE(store_->facets().held->append(consumer_, {&one, 1}).has_value());
  cut();
  EXPECT_EQ(store_->facets().held->depth(consumer_).value().rows, 1U);

  const ConsumerNumber other = attach(*store_, "other");
  cut();
  EXPECT_EQ(attach(*store_, "other"), other);
}

// Proves that the tests above can fail: a commit that is not synced is lost, so a missing sync
// would show.
TEST_F(PowerCutTest, WhatMayBeLostIsLost) {
  const Message durable = message("durable");
  const Message hasty = message("hasty");
  claim(*store_, durable, {60s, Durability::kPowerLoss, false});
  cut();
  EXPECT_TRUE(std::holds_alternative<Acquired>(claim(*store_, message("first"))));
  claim(*store_, hasty, {60s, Durability::kProcessCrash, false});
  cut();
  EXPECT_GT(lost_, 0U);
  const auto records = store_->facets().records->list(consumer_, {}, 10).value();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].key, "durable");
}

// Its holder is on another machine, and works on.
TEST_F(PowerCutTest, ARenewalOfALeaseThatOutlivesTheProcessSurvives) {
  const Message m = message("m");
  ClaimOptions elsewhere{60s, Durability::kPowerLoss, false};
  elsewhere.outlives_process = true;
  const Claim claimed = claim(*store_, m, elsewhere);
  ASSERT_TRUE(std::holds_alternative<Acquired>(claimed));
  const Lease lease = std::get<Acquired>(claimed).lease;
  clock_->advance(50s);
  ASSERT_EQ(store_->renew({&lease, 1}, 60s).value().front(), Applied::kYes);
  cut();
  clock_->advance(50s);
  EXPECT_TRUE(std::holds_alternative<Busy>(claim(*store_, m))) << "taken over from its holder";
}

TEST_F(PowerCutTest, TokensGrowOverACutThatForgotClaims) {
  const Message m = message("m");
  std::uint64_t last = 0;
  for (int i = 0; i < 4; ++i) {
    const auto token = static_cast<std::uint64_t>(acquire(*store_, m).token);
    EXPECT_GT(token, last);
    last = token;
    cut();
    EXPECT_GT(lost_, 0U);
  }
}

// Real disks keep some unsynced writes, in no order.
TEST_F(PowerCutTest, SomeOfTheUnsyncedIsNoHarm) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<Message> done;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 5; ++i) {
      const Message m = message(std::to_string(round) + "-" + std::to_string(i));
      complete(*store_, {m});
      done.push_back(m);
      claim(*store_, message("claimed-" + m.key().text));
    }
    cut([&] { return random() % 2 == 0; });
    for (const Message& m : done) ASSERT_TRUE(is_completed(*store_, m)) << m.key().text;
  }
}

TEST_F(PowerCutTest, AFullDiskIsToldAndNothingOfItIsApplied) {
  const Message before = message("before");
  complete(*store_, {before});
  std::size_t failed = 0;
  for (std::int64_t room = 0; room < 24'000; room += 1'500) {
    disk_.set_room(room);
    const auto batch = test::make_messages(consumer_, "full-" + std::to_string(room) + "-", 40);
    auto unit = store_->facets().transactional->begin({});
    if (!unit) {
      EXPECT_EQ(unit.error().code, "R205");
      disk_.set_room(-1);
      continue;
    }
    const auto claims = (*unit)->claim(test::pointers(batch)).value();
    std::vector<Finish> finishes;
    for (const Claim& one : claims) {
      finishes.push_back(test::completed(std::get<Acquired>(one).lease));
    }
    ASSERT_TRUE((*unit)->finish(finishes).has_value());
    const auto committed = (*unit)->commit();
    unit->reset();
    disk_.set_room(-1);
    if (!committed) {
      ++failed;
      EXPECT_EQ(committed.error().kind, ErrorKind::kUnavailable);
      EXPECT_EQ(committed.error().code, "R205") << committed.error().message;
    }
    EXPECT_EQ(complete(*store_, batch), committed ? 0U : 40U) << room;
  }
  EXPECT_GT(failed, 3U);
  EXPECT_GT(disk_.refused(), 3U);
  EXPECT_TRUE(is_completed(*store_, before));
  cut();
  EXPECT_TRUE(is_completed(*store_, before));
}

}  // namespace
}  // namespace semel::sqlite
