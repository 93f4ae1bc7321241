// Which sessions a pool lends.
#include "stores/sql/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace semel::sql {
namespace {

// Talks to no server, and is whole for as long as a test wants.
class ToldSession final : public Session {
 public:
  ToldSession(int number, std::set<int>& ended) : number(number), ended_(ended) {}
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

  const int number;

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

}  // namespace
}  // namespace semel::sql
