#include "core/retry_decision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <random>

#include <semel/reason.h>

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::uint64_t kMiddle = std::uint64_t{1} << 63;  // of the jitter: none

RetryPolicy policy() {
  RetryPolicy policy;
  policy.attempts = 5;
  policy.first = milliseconds(100);
  policy.longest = milliseconds(1000);
  policy.jitter = 0.2;
  policy.max_elapsed = hours(1);
  return policy;
}
Verdict::Retry wanted(std::optional<milliseconds> after = std::nullopt) {
  Verdict::Retry verdict;
  verdict.after = after;
  return verdict;
}
milliseconds delay(const RetryPolicy& p, int attempt, std::uint64_t random = kMiddle,
                   const Verdict::Retry& verdict = wanted()) {
  return std::get<RetryAfter>(decide_retry(p, verdict, attempt, milliseconds(0), random)).delay;
}
std::string_view given_up(const RetryPolicy& p, int attempt, milliseconds since,
                          const Verdict::Retry& verdict = wanted()) {
  const auto decision = decide_retry(p, verdict, attempt, since, kMiddle);
  const auto* end = std::get_if<GiveUp>(&decision);
  return end == nullptr ? "" : end->reason;
}
Verdict::Retry uncounted() {
  Verdict::Retry verdict;
  verdict.counted = false;
  return verdict;
}

TEST(DecideRetry, DoublesUpToTheLongest) {
  RetryPolicy p = policy();
  p.attempts = 0;
  EXPECT_EQ(delay(p, 1), milliseconds(100));
  EXPECT_EQ(delay(p, 2), milliseconds(200));
  EXPECT_EQ(delay(p, 3), milliseconds(400));
  EXPECT_EQ(delay(p, 4), milliseconds(800));
  EXPECT_EQ(delay(p, 5), milliseconds(1000));
  EXPECT_EQ(delay(p, 1'000'000), milliseconds(1000));
  EXPECT_EQ(delay(p, std::numeric_limits<int>::max()), milliseconds(1000));
}

TEST(DecideRetry, TheLongestBoundsTheFirst) {
  RetryPolicy p = policy();
  p.first = milliseconds(5000);
  EXPECT_EQ(delay(p, 1), milliseconds(1000));
  p.first = milliseconds(0);
  EXPECT_EQ(delay(p, 3), milliseconds(0));
  p.first = milliseconds(-5);
  EXPECT_EQ(delay(p, 3), milliseconds(0));
  p.first = milliseconds(1);
  p.longest = milliseconds::max();
  p.attempts = 0;
  EXPECT_GT(delay(p, 200), hours(1));
}

TEST(DecideRetry, AttemptsCountTheFirst) {
  EXPECT_EQ(given_up(policy(), 4, milliseconds(0)), "");
  EXPECT_EQ(given_up(policy(), 5, milliseconds(0)), reason::kAttemptsExhausted);
  EXPECT_EQ(given_up(policy(), 6, milliseconds(0)), reason::kAttemptsExhausted);
  RetryPolicy once = policy();
  once.attempts = 1;
  EXPECT_EQ(given_up(once, 1, milliseconds(0)), reason::kAttemptsExhausted);
  RetryPolicy unlimited = policy();
  unlimited.attempts = 0;
  EXPECT_EQ(given_up(unlimited, 1'000'000, milliseconds(0)), "");
}

TEST(DecideRetry, TimeRunsOut) {
  EXPECT_EQ(given_up(policy(), 1, hours(1) - milliseconds(1)), "");
  EXPECT_EQ(given_up(policy(), 1, hours(1)), reason::kElapsedExhausted);
  RetryPolicy unlimited = policy();
  unlimited.max_elapsed = milliseconds(0);
  EXPECT_EQ(given_up(unlimited, 1, hours(10'000)), "");
}

TEST(DecideRetry, WhatDoesNotCountUsesUpNoAttempt) {
  EXPECT_EQ(given_up(policy(), 50, milliseconds(0), uncounted()), "");
  EXPECT_EQ(given_up(policy(), 50, hours(1), uncounted()), reason::kElapsedExhausted);
}

TEST(DecideRetry, WhatDoesNotCountIsTriedTheLessOftenTheLongerItLasts) {
  RetryPolicy p = policy();
  p.longest = milliseconds(60'000);
  const auto after = [&](milliseconds since, const Verdict::Retry& verdict) {
    return std::get<RetryAfter>(decide_retry(p, verdict, 1, since, kMiddle)).delay;
  };
  EXPECT_EQ(after(milliseconds(0), uncounted()), milliseconds(100));
  EXPECT_EQ(after(milliseconds(800), uncounted()), milliseconds(100));
  EXPECT_EQ(after(milliseconds(8'000), uncounted()), milliseconds(1'000));
  EXPECT_EQ(after(milliseconds(3'000'000), uncounted()), milliseconds(60'000)) << "the longest";
  EXPECT_EQ(after(milliseconds(8'000), wanted()), milliseconds(100)) << "its attempts grow";
  Verdict::Retry own = uncounted();
  own.after = milliseconds(7);
  EXPECT_EQ(after(milliseconds(8'000), own), milliseconds(7)) << "the handler's wish";
}

TEST(DecideRetry, TheHandlersDelayIsKept) {
  EXPECT_EQ(delay(policy(), 1, 0, wanted(milliseconds(77))), milliseconds(77));
  EXPECT_EQ(delay(policy(), 1, ~0ULL, wanted(hours(9))), hours(9));
  EXPECT_EQ(delay(policy(), 1, 0, wanted(milliseconds(-1))), milliseconds(0));
  EXPECT_EQ(given_up(policy(), 5, milliseconds(0), wanted(milliseconds(1))),
            reason::kAttemptsExhausted);
}

Verdict::Retry asked_for(milliseconds after) {
  Verdict::Retry verdict = wanted(after);
  verdict.asked = true;
  return verdict;
}

TEST(DecideRetry, NoReceiverMakesItComeSoonerThanThePolicy) {
  for (const milliseconds hint : {milliseconds(0), milliseconds(-60'000), milliseconds(1)}) {
    EXPECT_EQ(delay(policy(), 1, kMiddle, asked_for(hint)), milliseconds(100));
    EXPECT_EQ(delay(policy(), 4, kMiddle, asked_for(hint)), milliseconds(800));
  }
  EXPECT_EQ(delay(policy(), 4, kMiddle, asked_for(milliseconds(799))), milliseconds(800));
  EXPECT_EQ(delay(policy(), 4, kMiddle, asked_for(milliseconds(801))), milliseconds(801));
}

TEST(DecideRetry, AReceiversHintEndsWithThePolicysTime) {
  EXPECT_EQ(delay(policy(), 1, kMiddle, asked_for(hours(9))), hours(1));
  RetryPolicy unlimited = policy();
  unlimited.max_elapsed = milliseconds(0);
  EXPECT_EQ(delay(unlimited, 1, kMiddle, asked_for(hours(9))), hours(9));
  const auto late =
      decide_retry(policy(), asked_for(hours(9)), 1, hours(1) - milliseconds(50), kMiddle);
  EXPECT_EQ(std::get<RetryAfter>(late).delay, milliseconds(100)) << "no sooner than the policy";
}

TEST(DecideRetry, JitterReachesItsBoundsAndNotPast) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  EXPECT_EQ(delay(policy(), 3, 0), milliseconds(320));
  EXPECT_EQ(delay(policy(), 3, ~0ULL), milliseconds(480));
  milliseconds low = milliseconds::max(), high = milliseconds::min();
  for (int i = 0; i < 10'000; ++i) {
    const milliseconds d = delay(policy(), 3, random());
    low = std::min(low, d);
    high = std::max(high, d);
  }
  EXPECT_GE(low, milliseconds(320)) << "seed " << seed;
  EXPECT_LE(high, milliseconds(480)) << "seed " << seed;
  EXPECT_LT(low, milliseconds(330)) << "seed " << seed;
  EXPECT_GT(high, milliseconds(470)) << "seed " << seed;
}

TEST(DecideRetry, AnOddJitterIsHarmless) {
  for (double jitter : {0.0, -3.0, 1.0, 7.0, std::nan("")}) {
    RetryPolicy p = policy();
    p.jitter = jitter;
    for (std::uint64_t random : {std::uint64_t{0}, kMiddle, ~std::uint64_t{0}}) {
      EXPECT_GE(delay(p, 1, random), milliseconds(0));
      EXPECT_LE(delay(p, 1, random), milliseconds(200));
    }
  }
}

}  // namespace
}  // namespace semel::core
