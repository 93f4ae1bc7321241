#include "core/row_rules.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

namespace semel::core {
namespace {

using Missing = VersionSpec::Missing;

Rows rows(std::vector<std::vector<Value>> values) { return {{}, std::move(values)}; }
Value number(std::int64_t n) { return {n}; }

TEST(DoneRule, ADuplicateWhereEveryRowIsDone) {
  const auto rule = done_rule();
  const auto judged = [&](const Rows& found) {
    return rule->judge(static_cast<std::int64_t>(found.rows.size()), found);
  };
  EXPECT_FALSE(judged(rows({}))) << "no row is not done";
  EXPECT_FALSE(judged(rows({{number(0)}})));
  EXPECT_FALSE(judged(rows({{number(1), Null{}}}))) << "the last column says it";
  EXPECT_FALSE(judged(rows({{number(1)}, {number(0)}}))) << "one of two is not done";
  for (const Rows& found : {rows({{number(1)}}), rows({{Value("PAID"), number(1)}}),
                            rows({{number(1)}, {number(1)}})}) {
    const auto otherwise = judged(found);
    ASSERT_TRUE(otherwise);
    EXPECT_TRUE(otherwise->duplicate);
  }
}

TEST(VersionRule, OlderIsStaleEqualRunsNewerIsEarly) {
  const auto rule = version_rule(5, Missing::kRetry);
  EXPECT_FALSE(rule->judge(1, rows({{number(5)}})));
  EXPECT_FALSE(rule->judge(1, rows({{Value("5")}}))) << "a numeric column comes as text";
  const auto stale = rule->judge(1, rows({{number(6)}}));
  ASSERT_TRUE(stale);
  EXPECT_TRUE(stale->duplicate);
  const auto early = rule->judge(1, rows({{number(4)}}));
  ASSERT_TRUE(early);
  EXPECT_FALSE(early->duplicate);
  EXPECT_EQ(early->verdict.kind(), Verdict::Kind::kRetry);
  EXPECT_EQ(early->verdict.code(), reason::kVersionEarly);
  EXPECT_TRUE(early->verdict.counted());
}

TEST(VersionRule, WhatIsNoVersionIsDead) {
  const auto rule = version_rule(5, Missing::kRetry);
  for (const Rows& found :
       {rows({{Null{}}}), rows({{Value("five")}}), rows({{Value(5.0)}}), rows({{Value("")}}),
        rows({{number(5)}, {number(5)}}), rows({{number(5), number(5)}})}) {
    const auto otherwise = rule->judge(1, found);
    ASSERT_TRUE(otherwise);
    EXPECT_EQ(otherwise->verdict.kind(), Verdict::Kind::kDead);
    EXPECT_EQ(otherwise->verdict.code(), reason::kVersionInvalid);
    EXPECT_FALSE(otherwise->verdict.reason().empty());
  }
}

TEST(VersionRule, NoRowIsWhatTheConfigSays) {
  EXPECT_FALSE(version_rule(1, Missing::kHandle)->judge(0, rows({})));
  EXPECT_TRUE(version_rule(1, Missing::kDuplicate)->judge(0, rows({}))->duplicate);
  const auto again = version_rule(1, Missing::kRetry)->judge(0, rows({}));
  EXPECT_EQ(again->verdict.kind(), Verdict::Kind::kRetry);
  EXPECT_EQ(again->verdict.code(), reason::kVersionMissing);
  const auto never = version_rule(1, Missing::kDeadLetter)->judge(0, rows({}));
  EXPECT_EQ(never->verdict.kind(), Verdict::Kind::kDead);
  EXPECT_EQ(never->verdict.code(), reason::kVersionMissing);
}

TEST(WrittenRule, WhatChangesNoRowHasLost) {
  const auto rule = written_rule();
  EXPECT_FALSE(rule->judge(1, {}));
  EXPECT_FALSE(rule->judge(3, {}));
  const auto lost = rule->judge(0, {});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->verdict.kind(), Verdict::Kind::kRetry);
  EXPECT_EQ(lost->verdict.code(), reason::kVersionLost);
}

}  // namespace
}  // namespace semel::core
