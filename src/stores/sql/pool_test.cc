// Which sessions a pool lends.
#include "stores/sql/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace semel::sql {
namespace {

constexpr std::chrono::hours kLong{1};

// Talks to no server, and is whole for as long as a test wants.
class ToldSession final : public Session {
 public:
  ToldSession(int number, std::set<int>& ended, SessionAge age = SessionAge())
      : Session(age), number(number), ended_(ended) {}
  Answer ask(const SqlText&, std::initializer_list<Param>) override { return {{}, 0, 0}; }
  void queue(const SqlText&, std::initializer_list<Param>) override {}
  std::int64_t next_number(Counter) override { return 0; }
  StoreTime now() override { return {}; }
  void begin(std::chrono::milliseconds) override {}
  void commit() override {}
  bool borrowed() const noexcept override { return false; }
  void note_commit() noexcept override {}
  void roll_back() noexcept override {}
  bool whole() const noexcept override { return !ended_.contains(number); }
  bool refuses_writes() const noexcept override { return refused; }

  const int number;
  bool refused = false;

 private:
  std::set<int>& ended_;
};

TEST(SessionPool, LendsNoneThatWasEndedWhileItWasIdle) {
  std::set<int> ended;
  int opened = 0;
  Pool pool([&] { return std::make_unique<ToldSession>(++opened, ended); }, 4,
            std::chrono::milliseconds(1));
  const auto lend = [&] { return static_cast<ToldSession&>(*PooledSession(pool)).number; };
  { PooledSession first(pool), second(pool), third(pool); }
  ASSERT_EQ(opened, 3);
  EXPECT_LE(lend(), 3) << "an idle one";
  ended = {1, 2, 3};
  EXPECT_EQ(lend(), 4) << "the server had ended all of them";
  EXPECT_EQ(lend(), 4);
  EXPECT_EQ(opened, 4);
}

// Sessions that began long ago, or have just begun for as long as a test runs.
class SessionPoolOfAReader : public testing::Test {
 protected:
  void refuse() {
    PooledSession lent(pool_);
    static_cast<ToldSession&>(*lent).refused = true;
  }
  int lend() { return static_cast<ToldSession&>(*PooledSession(pool_)).number; }

  std::set<int> ended_;
  SessionAge age_{SessionAge::Clock::now() - kLong};
  int opened_ = 0;
  Pool pool_{[this] { return std::make_unique<ToldSession>(++opened_, ended_, age_); }, 4,
             std::chrono::milliseconds(1)};
};

TEST_F(SessionPoolOfAReader, IsLeftByAllOldSessionsOnceItHasRefusedAWrite) {
  { PooledSession first(pool_), second(pool_), third(pool_); }
  ASSERT_EQ(opened_, 3);
  ASSERT_LE(lend(), 3) << "it has refused nothing yet";
  refuse();
  EXPECT_EQ(lend(), 4) << "the idle ones are at the same server";
  EXPECT_EQ(lend(), 4);
}

TEST_F(SessionPoolOfAReader, IsNotConnectedToAnewForEachRefusedWrite) {
  age_ = SessionAge(SessionAge::Clock::now() + kLong);
  refuse();
  refuse();
  EXPECT_EQ(opened_, 1) << "the server only reads for good";
}

TEST_F(SessionPoolOfAReader, KeepsYoungSessionsThatMayBeAtAnotherServer) {
  {
    const PooledSession old(pool_);
    age_ = SessionAge(SessionAge::Clock::now() + kLong);
    const PooledSession young(pool_);
  }
  ASSERT_EQ(lend(), 1) << "the one that was put back last";
  refuse();
  EXPECT_EQ(lend(), 2);
  EXPECT_EQ(opened_, 2);
}

}  // namespace
}  // namespace semel::sql
