#include "sources/sqs/pauses.h"

#include <gtest/gtest.h>

namespace semel::sqs {
namespace {

using namespace std::chrono_literals;
constexpr Pauses::TimePoint kStart{};

TEST(SqsPauses, AKindThatFailsHoldsNoOther) {
  Pauses pauses(60s);
  EXPECT_TRUE(pauses.failed(CallKind::kReceive, kStart, 0));
  EXPECT_FALSE(pauses.may_call(CallKind::kReceive, kStart));
  EXPECT_TRUE(pauses.may_call(CallKind::kDelete, kStart));
  EXPECT_TRUE(pauses.may_call(CallKind::kRenew, kStart));
  EXPECT_FALSE(pauses.failed(CallKind::kReceive, kStart, 0)) << "it fails together with the first";
  EXPECT_EQ(pauses.failures(CallKind::kReceive), 1U);
  pauses.answered(CallKind::kDelete);
  EXPECT_EQ(pauses.failures(CallKind::kReceive), 1U) << "another kind's answer says nothing of it";
  pauses.answered(CallKind::kReceive);
  EXPECT_TRUE(pauses.may_call(CallKind::kReceive, kStart));
}

TEST(SqsPauses, ACallIsPutOffThoughNoneFailed) {
  Pauses pauses(5s);
  pauses.put_off(CallKind::kReceive, kStart + 200ms);
  pauses.put_off(CallKind::kReceive, kStart + 100ms);
  EXPECT_FALSE(pauses.may_call(CallKind::kReceive, kStart + 199ms));
  EXPECT_TRUE(pauses.may_call(CallKind::kReceive, kStart + 200ms));
  EXPECT_TRUE(pauses.may_call(CallKind::kDelete, kStart));
  EXPECT_EQ(pauses.failures(CallKind::kReceive), 0U);
}

TEST(SqsPauses, TheyGrowAndThoseOfRenewalsStayFarBelowTheVisibility) {
  Pauses pauses(5s);
  Pauses::TimePoint now = kStart;
  for (int i = 0; i < 20; ++i) {
    pauses.failed(CallKind::kReceive, now, ~std::uint64_t{0});
    pauses.failed(CallKind::kRenew, now, ~std::uint64_t{0});
    EXPECT_LE(pauses.until(CallKind::kRenew) - now, 500ms);
    now = std::max(pauses.until(CallKind::kReceive), pauses.until(CallKind::kRenew));
  }
  pauses.failed(CallKind::kReceive, now, 0);
  EXPECT_GE(pauses.until(CallKind::kReceive) - now, 5s);
  pauses.forget();
  EXPECT_TRUE(pauses.may_call(CallKind::kReceive, now));
  EXPECT_EQ(pauses.failures(CallKind::kReceive), 0U);
}

}  // namespace
}  // namespace semel::sqs
