#include "strategies/lock_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace semel::strategies {
namespace {

StatementList list(const char* sql, std::vector<Value> values) {
  StatementList list(1);
  list[0].statement = admit_statement(sql).value();
  list[0].values = std::move(values);
  return list;
}

StatementList update(std::int64_t amount, std::int64_t account) {
  return list("UPDATE account SET balance = balance + ? WHERE id = ?", {amount, account});
}

TEST(LockOrder, TheRowThatIsMeantCountsBeforeWhatIsWrittenToIt) {
  EXPECT_TRUE(locks_before(update(9, 1), update(1, 2)));
  EXPECT_FALSE(locks_before(update(1, 2), update(9, 1)));
  EXPECT_TRUE(locks_before(update(1, 2), update(9, 2)));
  EXPECT_FALSE(locks_before(update(1, 2), update(1, 2)));
}

TEST(LockOrder, WithoutAConditionTheValuesCountAsTheyStand) {
  const char* const kSql = "INSERT INTO stock VALUES (?, ?) ON CONFLICT (sku) DO NOTHING";
  EXPECT_TRUE(locks_before(list(kSql, {"a", 9}), list(kSql, {"b", 1})));
}

TEST(LockOrder, AConditionOfAPartOfItIsNotItsOwn) {
  const char* const kSql = "INSERT INTO t SELECT ?, (SELECT max(a) FROM u WHERE b = ?)";
  EXPECT_TRUE(locks_before(list(kSql, {1, 9}), list(kSql, {2, 1})));
}

TEST(LockOrder, ListsOfOtherStatementsStandApart) {
  const StatementList one = list("DELETE FROM a WHERE id = ?", {9});
  const StatementList other = list("DELETE FROM b WHERE id = ?", {1});
  EXPECT_NE(locks_before(one, other), locks_before(other, one));
  EXPECT_TRUE(locks_before({}, one));
  EXPECT_FALSE(locks_before(one, {}));
}

TEST(LockOrder, OrdersWhateverValuesThereAre) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Value> values = {Null{}, 3,  -1,  1.5, kNan,      -0.0,
                               0.0,    "", "b", "a", Blob{"x"}, Blob{""}};
  std::vector<StatementList> lists;
  for (const Value& value : values) lists.push_back(list("DELETE FROM a WHERE id = ?", {value}));
  std::ranges::sort(lists, locks_before);
  for (std::size_t i = 0; i + 1 < lists.size(); ++i) {
    EXPECT_FALSE(locks_before(lists[i + 1], lists[i])) << i;
  }
}

}  // namespace
}  // namespace semel::strategies
