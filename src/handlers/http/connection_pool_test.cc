#include "handlers/http/connection_pool.h"

#include <gtest/gtest.h>

namespace semel::handlers {
namespace {

TEST(ConnectionPool, AConnectionIsSilentAfterThreeTimeoutsInARow) {
  ConnectionPool pool;
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(pool.timed_out("slow:1"));
    EXPECT_FALSE(pool.timed_out("slow:1"));
    pool.answered("slow:1");
  }
  EXPECT_FALSE(pool.timed_out("silent:2"));
  EXPECT_FALSE(pool.timed_out("silent:2"));
  pool.answered("slow:1");
  EXPECT_TRUE(pool.timed_out("silent:2")) << "another one's answers do not count";
}

}  // namespace
}  // namespace semel::handlers
