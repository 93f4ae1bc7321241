#include "strategies/lock_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace semel::strategies {
namespace {

struct Step {
  const char* sql;
  std::vector<Value> values;
};

StatementList list(std::vector<Step> steps) {
  StatementList list;
  for (Step& step : steps) {
    RecordedStatement& one = list.emplace_back();
    one.statement = admit_statement(step.sql).value();
    one.values = std::move(step.values);
  }
  return list;
}

Step book(std::int64_t amount, std::int64_t account) {
  return {"UPDATE account SET balance = balance + ? WHERE id = ?", {amount, account}};
}
Step keep(const char* payment) { return {"INSERT INTO payment VALUES (?)", {payment}}; }
Step finish(const char* payment) {
  return {"UPDATE payment SET status = 'PAID' WHERE id = ?", {payment}};
}

std::vector<std::size_t> sorted(LockOrder& order, const std::vector<StatementList>& lists) {
  std::vector<const StatementList*> all;
  std::vector<std::size_t> places;
  for (const StatementList& one : lists) {
    places.push_back(places.size());
    all.push_back(&one);
  }
  order.sort(places, all);
  return places;
}
std::vector<std::size_t> sorted(const std::vector<StatementList>& lists) {
  LockOrder order;
  return sorted(order, lists);
}

using Places = std::vector<std::size_t>;

TEST(LockOrder, TheRowThatIsMeantCountsBeforeWhatIsWrittenToIt) {
  EXPECT_EQ(sorted({list({book(1, 2)}), list({book(9, 1)})}), Places({1, 0}));
  EXPECT_EQ(sorted({list({book(9, 2)}), list({book(1, 2)})}), Places({1, 0}));
  EXPECT_EQ(sorted({list({book(1, 2)}), list({book(1, 2)})}), Places({0, 1}));
}

TEST(LockOrder, WithoutAConditionTheValuesCountAsTheyStand) {
  const char* const kSql = "INSERT INTO stock VALUES (?, ?) ON CONFLICT (sku) DO NOTHING";
  EXPECT_EQ(sorted({list({{kSql, {"b", 1}}}), list({{kSql, {"a", 9}}})}), Places({1, 0}));
}

TEST(LockOrder, AConditionOfAPartOfItIsNotItsOwn) {
  const char* const kSql = "INSERT INTO t SELECT ?, (SELECT max(a) FROM u WHERE b = ?)";
  EXPECT_EQ(sorted({list({{kSql, {2, 1}}}), list({{kSql, {1, 9}}})}), Places({1, 0}));
}

TEST(LockOrder, RowsThatMessagesShareCountBeforeEachOnesOwn) {
  EXPECT_EQ(sorted({list({keep("a"), book(1, 2)}), list({keep("b"), book(1, 1)}),
                    list({keep("c"), book(1, 2)}), list({keep("d"), book(1, 1)})}),
            Places({1, 3, 0, 2}));
  EXPECT_EQ(sorted({list({book(1, 2), finish("a")}), list({book(1, 1), finish("b")}),
                    list({book(1, 2), finish("c")}), list({book(1, 1), finish("d")})}),
            Places({1, 3, 0, 2}));
}

TEST(LockOrder, WhichAreSharedIsRememberedForBatchesThatDoNotTell) {
  LockOrder order;
  sorted(order, {list({book(1, 2), finish("a")}), list({book(1, 2), finish("b")})});
  EXPECT_EQ(sorted(order, {list({book(1, 2), finish("a")}), list({book(1, 1), finish("b")})}),
            Places({1, 0}));
  EXPECT_EQ(sorted({list({book(1, 2), finish("a")}), list({book(1, 1), finish("b")})}),
            Places({0, 1}));
}

TEST(LockOrder, OfOneRowTheVersionsStandInTheirOrder) {
  const char* const kLook = "SELECT version FROM bill WHERE id = ?";
  const char* const kSet = "UPDATE bill SET version = ? WHERE id = ? AND version = ?";
  const auto change = [&](std::int64_t version) {
    return list({{kLook, {"a"}}, {kSet, {version + 1, "a", version}}});
  };
  EXPECT_EQ(sorted({change(2), change(0), change(1)}), Places({1, 2, 0}));
}

TEST(LockOrder, ListsOfOtherStatementsStandApart) {
  const StatementList none;
  const StatementList one = list({{"DELETE FROM a WHERE id = ?", {9}}});
  const StatementList other = list({{"DELETE FROM b WHERE id = ?", {1}}});
  const StatementList longer = list({{"DELETE FROM b WHERE id = ?", {1}}, finish("a")});
  EXPECT_EQ(sorted({other, one, none}), Places({2, 1, 0}));
  EXPECT_EQ(sorted({longer, other}), Places({1, 0}));
  EXPECT_EQ(sorted({other, longer}), Places({0, 1}));
}

TEST(LockOrder, OrdersWhateverValuesThereAre) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Value> values = {
      Null{}, 3,   -1,  1.5,       kNan,     -0.0,           0.0,
      "",     "b", "a", Blob{"x"}, Blob{""}, Decimal{"2.5"}, Decimal{"1.5"}};
  std::vector<StatementList> lists;
  for (const Value& value : values)
    lists.push_back(list({{"DELETE FROM a WHERE id = ?", {value}}}));
  const Places there = sorted(lists);
  std::ranges::reverse(lists);
  const Places back = sorted(lists);
  for (std::size_t i = 0; i < there.size(); ++i) {
    // The value zero occurs twice.
    const bool zero = std::get_if<double>(&values[there[i]]) != nullptr;
    EXPECT_TRUE(zero || there[i] == values.size() - 1 - back[i]) << i;
  }
}

}  // namespace
}  // namespace semel::strategies
