#include <semel/statement.h>

#include <gtest/gtest.h>

namespace semel {
namespace {

TEST(AdmitStatement, TellsWhatItHas) {
  const auto update = admit_statement("UPDATE t SET a = a + ? WHERE id = ?; -- done").value();
  EXPECT_EQ(update->sql, "UPDATE t SET a = a + ? WHERE id = ?");
  EXPECT_EQ(update->placeholders, 2U);
  EXPECT_FALSE(update->returns_rows);
  EXPECT_TRUE(admit_statement("SELECT 1").value()->returns_rows);
  EXPECT_TRUE(admit_statement("DELETE FROM t RETURNING id").value()->returns_rows);
}

TEST(AdmitStatement, Refuses) {
  for (const char* bad : {"", "COMMIT", "UPDATE t SET a = :a", "SELECT 1; SELECT 2",
                          "DELETE FROM semel_live", "PRAGMA journal_mode = DELETE"}) {
    const auto answer = admit_statement(bad);
    ASSERT_FALSE(answer) << bad;
    EXPECT_EQ(answer.error().kind, ErrorKind::kRejected);
    EXPECT_FALSE(answer.error().message.empty());
  }
}

}  // namespace
}  // namespace semel
