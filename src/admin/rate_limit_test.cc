#include "admin/rate_limit.h"

#include <gtest/gtest.h>

namespace semel::admin {
namespace {

using std::chrono::milliseconds;

int allowed(RateLimit& limit, const std::string& caller, RateLimit::Time now, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += limit.allows(caller, now) ? 1 : 0;
  return count;
}

TEST(RateLimitTest, EachCallerHasItsBurstAndThenTheRate) {
  RateLimit limit(10, 5);
  const RateLimit::Time begin{};
  EXPECT_EQ(allowed(limit, "a", begin, 20), 5);
  EXPECT_EQ(allowed(limit, "b", begin, 20), 5) << "callers do not share";
  EXPECT_EQ(allowed(limit, "a", begin + milliseconds(99), 20), 0);
  EXPECT_EQ(allowed(limit, "a", begin + milliseconds(300), 20), 3) << "what was refused is free";
  EXPECT_EQ(allowed(limit, "a", begin + std::chrono::hours(1), 20), 5) << "no more than the burst";
}

}  // namespace
}  // namespace semel::admin
