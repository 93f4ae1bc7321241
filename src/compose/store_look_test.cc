#include "compose/store_look.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/support/waiting.h"

namespace semel::compose {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::optional<StoreSnapshot> snapshot(std::size_t bytes) {
  StoreSnapshot made;
  made.stats.bytes = bytes;
  return made;
}

TEST(StoreLookTest, AsksWhenSomebodyWantsToKnow) {
  std::atomic<int> asked{0};
  StoreLook look([&]() -> Result<std::optional<StoreSnapshot>> {
    return snapshot(static_cast<std::size_t>(++asked));
  });
  const auto seen = look.get(seconds(30));
  ASSERT_TRUE(seen.snapshot);
  EXPECT_EQ(seen.snapshot->stats.bytes, 1U);
  EXPECT_EQ(seen.reachable, true);
  constexpr int kTimes = 1'000;
  for (int i = 0; i < kTimes; ++i) (void)look.get(seconds(30));
  EXPECT_LT(asked, kTimes / 2) << "what is fresh is not asked for again";
}

TEST(StoreLookTest, AFailureLeavesWhatWasSeenBefore) {
  std::atomic<bool> away{false};
  StoreLook look([&]() -> Result<std::optional<StoreSnapshot>> {
    if (away) return failure({ErrorKind::kUnavailable, "R250", "away", {}});
    return snapshot(7);
  });
  ASSERT_TRUE(look.get(seconds(30)).snapshot);
  away = true;
  ASSERT_TRUE(test::comes_true([&] { return look.get(seconds(30)).reachable == false; }));
  EXPECT_EQ(look.get(seconds(30)).snapshot->stats.bytes, 7U);
}

TEST(StoreLookTest, NobodyWaitsForAStoreThatHangs) {
  std::promise<void> answer;
  auto hangs = answer.get_future().share();
  StoreLook look([&]() -> Result<std::optional<StoreSnapshot>> {
    hangs.wait();
    return snapshot(7);
  });
  const auto seen = look.get(milliseconds(1));
  EXPECT_FALSE(seen.snapshot);
  EXPECT_FALSE(seen.reachable) << "not known yet";
  answer.set_value();
  EXPECT_TRUE(test::comes_true([&] { return look.get(milliseconds(0)).snapshot.has_value(); }));
}

TEST(StoreLookTest, MayEndWithoutAQuestion) {
  const StoreLook look([]() -> Result<std::optional<StoreSnapshot>> { return snapshot(7); });
}

}  // namespace
}  // namespace semel::compose
