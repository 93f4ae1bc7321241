#include "core/row_select.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

constexpr auto kServer = RowLocks::kForUpdate;
constexpr auto kOne = RowLocks::kOneWriter;

std::string locked(std::string_view select, std::string_view done, RowLocks locks = kServer) {
  const auto made = lock_select(select, done, locks);
  return made ? *made : "refused: " + made.error().message;
}

TEST(LockSelect, TheConditionIsItsLastColumn) {
  EXPECT_EQ(locked("SELECT status FROM orders WHERE id = :id FOR UPDATE", "status = 'PAID'"),
            "SELECT status, CASE WHEN (status = 'PAID'\n) THEN 1 ELSE 0 END AS semel_done "
            "FROM orders WHERE id = :id FOR UPDATE");
  EXPECT_EQ(locked("select * from orders where id=:id for update", "paid_by = :payment"),
            "select *, CASE WHEN (paid_by = :payment\n) THEN 1 ELSE 0 END AS semel_done "
            "from orders where id=:id for update");
}

TEST(LockSelect, AStoreWithOneWriterKnowsNoForUpdate) {
  EXPECT_EQ(locked("SELECT a FROM t WHERE id = :id FOR UPDATE", "a", kOne),
            "SELECT a, CASE WHEN (a\n) THEN 1 ELSE 0 END AS semel_done FROM t WHERE id = :id ");
  EXPECT_EQ(locked("SELECT a FROM t WHERE id = :id", "a", kOne),
            "SELECT a, CASE WHEN (a\n) THEN 1 ELSE 0 END AS semel_done FROM t WHERE id = :id");
}

TEST(LockSelect, FindsTheStatementsOwnFrom) {
  EXPECT_EQ(locked("SELECT extract(year FROM at), (SELECT 1 FROM x), a IS DISTINCT FROM b, "
                   "'from', \"from\" FROM t FOR UPDATE OF t",
                   "true"),
            "SELECT extract(year FROM at), (SELECT 1 FROM x), a IS DISTINCT FROM b, 'from', "
            "\"from\", CASE WHEN (true\n) THEN 1 ELSE 0 END AS semel_done FROM t FOR UPDATE OF t");
  EXPECT_EQ(locked("WITH o AS (SELECT * FROM x) SELECT a FROM o FOR NO KEY UPDATE", "a"),
            "WITH o AS (SELECT * FROM x) SELECT a, CASE WHEN (a\n) THEN 1 ELSE 0 END AS semel_done "
            "FROM o FOR NO KEY UPDATE");
  EXPECT_EQ(locked("SELECT a /* FROM */ FROM t -- FROM\nFOR UPDATE;", "a -- FROM"),
            "SELECT a, CASE WHEN (a -- FROM\n) THEN 1 ELSE 0 END AS semel_done FROM t  FOR UPDATE");
}

TEST(LockSelect, RefusesWhatLocksNothingOrWaitsForNobody) {
  for (const char* select :
       {"SELECT a FROM t", "SELECT a FROM t FOR SHARE", "SELECT a FROM t FOR UPDATE NOWAIT",
        "SELECT a FROM t FOR UPDATE SKIP LOCKED", "SELECT a FROM t FOR UPDATE LIMIT 1",
        "SELECT a FROM t FOR UPDATE OF t SKIP LOCKED", "SELECT a FROM t FOR KEY SHARE"}) {
    SCOPED_TRACE(select);
    const auto made = lock_select(select, "a", kServer);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().hint, "end it with FOR UPDATE");
  }
}

TEST(LockSelect, RefusesWhatIsNoSelectOverATable) {
  for (const char* select :
       {"", "UPDATE t SET a = 1", "SELECT 1", "SELECT a FROM t UNION SELECT b FROM u FOR UPDATE",
        "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x FOR UPDATE",
        "SELECT a FROM t; SELECT", "SELECT a INTO b FROM t FOR UPDATE"}) {
    SCOPED_TRACE(select);
    EXPECT_FALSE(lock_select(select, "a", kServer));
  }
  for (const char* done : {"", "a) OR (b", "'open", "a; b", "/* only */"}) {
    SCOPED_TRACE(done);
    EXPECT_FALSE(lock_select("SELECT a FROM t FOR UPDATE", done, kServer));
  }
}

TEST(VersionSelect, NamesItsTable) {
  const auto table = [](std::string_view select) {
    const auto made = version_select(select, kServer);
    return made ? made->table : "refused: " + made.error().message;
  };
  EXPECT_EQ(table("SELECT version FROM invoice WHERE id = :id"), "invoice");
  EXPECT_EQ(table("SELECT v FROM ONLY billing.\"Invoice\" AS i WHERE id = :id"), "Invoice");
  EXPECT_EQ(table("SELECT v FROM `a`.`b` FOR UPDATE"), "b");
  EXPECT_EQ(table("SELECT v FROM (SELECT 1 AS v) x"), "refused: no table stands behind its FROM");
  EXPECT_EQ(table("SELECT v FROM latest(:id)"), "refused: no table stands behind its FROM");
  EXPECT_EQ(table("DELETE FROM invoice"), "refused: it must only read, but this is DELETE");
  EXPECT_EQ(version_select("SELECT v FROM t WHERE id = :id FOR UPDATE", kOne)->sql,
            "SELECT v FROM t WHERE id = :id ");
  EXPECT_EQ(version_select("SELECT v FROM t WHERE id = :id FOR UPDATE", kServer)->sql,
            "SELECT v FROM t WHERE id = :id FOR UPDATE");
}

}  // namespace
}  // namespace semel::core
