// Gates: a consumer that begins nothing for now, for every process on the store.
#include <semel/admin/gates.h>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

TEST_P(GatesSuite, AGateIsOpenUntilItIsShut) {
  EXPECT_FALSE(gates().state(consumer()).value());
  ASSERT_TRUE(gates().shut(consumer(), "503 from the bank", 30s).has_value());
  const auto gate = gates().state(consumer()).value();
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->why, "503 from the bank");
  ASSERT_TRUE(gate->until);
  EXPECT_EQ(*gate->until - gate->since, 30s);
  EXPECT_FALSE(gates().state(attach("others")).value()) << "of this consumer only";
  advance(31s);
  EXPECT_FALSE(gates().state(consumer()).value());
}

TEST_P(GatesSuite, OpenEndsABreakButNotAPause) {
  ASSERT_TRUE(gates().shut(consumer(), "away", 30s).has_value());
  ASSERT_TRUE(gates().open(consumer()).has_value());
  EXPECT_FALSE(gates().state(consumer()).value());
  ASSERT_TRUE(gates().shut(consumer(), "410 Gone", std::nullopt).has_value());
  ASSERT_TRUE(gates().open(consumer()).has_value());
  EXPECT_TRUE(gates().state(consumer()).value());
}

TEST_P(GatesSuite, APauseIsNotMadeShorterAndKeepsItsFirstReason) {
  ASSERT_TRUE(gates().shut(consumer(), "by hand", std::nullopt).has_value());
  ASSERT_TRUE(gates().shut(consumer(), "503", 1s).has_value());
  ASSERT_TRUE(gates().shut(consumer(), "410", std::nullopt).has_value());
  advance(1h);
  const auto gate = gates().state(consumer()).value();
  ASSERT_TRUE(gate);
  EXPECT_FALSE(gate->until);
  EXPECT_EQ(gate->why, "by hand");
}

TEST_P(GatesSuite, ABreakMayBecomeAPauseAndTheNewestBreakCounts) {
  ASSERT_TRUE(gates().shut(consumer(), "first", 10s).has_value());
  ASSERT_TRUE(gates().shut(consumer(), "second", 60s).has_value());
  EXPECT_EQ(gates().state(consumer()).value()->why, "second");
  ASSERT_TRUE(gates().shut(consumer(), "third", std::nullopt).has_value());
  EXPECT_FALSE(gates().state(consumer()).value()->until);
}

TEST_P(GatesSuite, APersonOpensAny) {
  EXPECT_FALSE(gates().resume(consumer()).value());
  ASSERT_TRUE(gates().shut(consumer(), "by hand", std::nullopt).has_value());
  EXPECT_TRUE(gates().resume(consumer()).value());
  EXPECT_FALSE(gates().state(consumer()).value());
}

TEST_P(GatesSuite, ItOutlivesTheStoreWhereTheStoreIsDurable) {
  ASSERT_TRUE(gates().shut(consumer(), "by hand", std::nullopt).has_value());
  reopen();
  EXPECT_TRUE(gates().state(consumer()).value());
}

}  // namespace
}  // namespace semel::conformance
