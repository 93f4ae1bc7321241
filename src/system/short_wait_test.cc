#include "system/short_wait.h"

#include <gtest/gtest.h>

namespace semel::system {
namespace {

// A server whose answer is there at that poll; zero: never.
struct Server {
  static constexpr int kMostLooks = 10;
  ShortWait wait;
  int looks = 0;

  bool ask(int there_at) {
    looks = 0;
    return wait.look([&] { return ++looks == there_at; }, [&] { return looks < kMostLooks; });
  }
};

TEST(ShortWait, LooksAgainForWhatIsNotThereYet) {
  Server server;
  EXPECT_TRUE(server.ask(1));
  EXPECT_TRUE(server.ask(5));
  EXPECT_EQ(server.looks, 5);
}

TEST(ShortWait, LooksForAWhileAndNoLonger) {
  ShortWait wait;
  EXPECT_TRUE(wait.look([] { return true; }));
  EXPECT_FALSE(wait.look([] { return false; }));
}

TEST(ShortWait, GoesToSleepAtOnceWhereAnswersAreSlow) {
  Server server;
  int looked = 0;
  constexpr int kWaits = 1'000;
  for (int i = 0; i < kWaits; ++i) {
    EXPECT_FALSE(server.ask(0));
    if (server.looks > 1) ++looked;
  }
  EXPECT_GE(looked, 10) << "it asks now and then whether they are faster";
  EXPECT_LE(looked, 30);
}

TEST(ShortWait, GoesOnLookingWhereHalfOfTheAnswersAreSlow) {
  Server server;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(server.ask(0));
    EXPECT_TRUE(server.ask(3)) << i;
  }
}

TEST(ShortWait, LooksAgainOnceTheyAreFast) {
  Server server;
  for (int i = 0; i < 100; ++i) server.ask(0);
  int missed = 0;
  while (!server.ask(2)) ASSERT_LE(++missed, 64);
  EXPECT_TRUE(server.ask(2));
  EXPECT_TRUE(server.ask(2));
}

}  // namespace
}  // namespace semel::system
