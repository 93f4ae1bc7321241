// A name that one process at a time has, and how it becomes free.
#include "stores/redis/reservation.h"

#include <string>

#include "stores/redis/test_place.h"
#include "tests/support/waiting.h"

namespace semel::redis {
namespace {

constexpr NameReservation::Times kShort{.expiry = 60s, .renew_every = 50ms, .again = 20ms};

class HeldNames : public ::testing::Test {
 protected:
  static Pool::Connect connect() {
    return [] { return std::make_unique<Connection>(target_of(shared().url())); };
  }
  std::unique_ptr<NameReservation> take(const NameReservation::Times& times = {}) {
    return NameReservation::take(name_, connect(), scripts_, *system_environment().random, times);
  }
  // The holder stored there.
  Bytes holder() const { return shared().run({"GET", name_}); }
  std::string connection() const {
    const Bytes who = holder();
    return who.substr(who.rfind(' ') + 1);
  }

  const std::string name_ = shared().new_database() + ":reader";
  const std::shared_ptr<NameScripts> scripts_ = std::make_shared<NameScripts>();
};

TEST_F(HeldNames, IsOneHoldersUntilItLetsGo) {
  auto mine = take();
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(take(), nullptr);
  mine.reset();
  EXPECT_EQ(holder(), "");
  EXPECT_NE(take(), nullptr);
}

TEST_F(HeldNames, ADeadHoldersIsFreeAtOnce) {
  // As a killed process leaves it: the name is there, and its connection is gone.
  auto gone = take();
  ASSERT_NE(gone, nullptr);
  const Bytes left = holder();
  gone.reset();
  shared().run({"SET", name_, left, "PX", "30000"});
  EXPECT_NE(take(), nullptr);
}

TEST_F(HeldNames, AnotherLifeOfTheServerSaysNothingOfTheHolder) {
  auto gone = take();
  ASSERT_NE(gone, nullptr);
  Bytes left = holder();
  gone.reset();
  left[20] = left[20] == '0' ? '1' : '0';
  shared().run({"SET", name_, left, "PX", "30000"});
  EXPECT_EQ(take(), nullptr) << "it may be connecting again: only its expiry frees it";
  shared().run({"PEXPIRE", name_, "1"});
  EXPECT_TRUE(test::comes_true([&] { return take() != nullptr; }));
}

TEST_F(HeldNames, IsKeptForLongerThanItsExpiry) {
  const auto mine = take(kShort);
  ASSERT_NE(mine, nullptr);
  for (int times = 0; times < 3; ++times) {
    // As if half of its time were over.
    shared().run({"PEXPIRE", name_, "30000"});
    EXPECT_TRUE(test::comes_true([&] {
      return std::stoi(shared().run({"PTTL", name_})) > 30'000;
    })) << "its expiry is not moved on";
  }
  EXPECT_EQ(take(), nullptr);
}

TEST_F(HeldNames, AHolderThatWasCutOffComesBack) {
  const auto mine = take(kShort);
  ASSERT_NE(mine, nullptr);
  const std::string before = connection();
  shared().run({"CLIENT", "KILL", "ID", before});
  const auto is_back = [&] {
    const std::string now = connection();
    return !now.empty() && now != before;
  };
  EXPECT_TRUE(test::comes_true(is_back)) << connection();
  EXPECT_EQ(take(), nullptr);
}

TEST_F(HeldNames, WhoeverTookItMeanwhileKeepsIt) {
  // Only its holder runs scripts there.
  const test::RedisServer own(test::RedisServer::fast());
  auto mine = NameReservation::take(
      name_, [&own] { return std::make_unique<Connection>(target_of(own.url())); }, scripts_,
      *system_environment().random, kShort);
  ASSERT_NE(mine, nullptr);
  EXPECT_FALSE(mine->lost());
  own.run({"SET", name_, "somebody else, with a nonce of its own"});
  EXPECT_TRUE(test::comes_true([&] { return mine->lost(); })) << "it is not told";
  EXPECT_EQ(own.run({"GET", name_}), "somebody else, with a nonce of its own");
  mine.reset();
  EXPECT_EQ(own.run({"GET", name_}), "somebody else, with a nonce of its own");
}

}  // namespace
}  // namespace semel::redis
