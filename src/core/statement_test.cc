#include <semel/spi/recorded_statement.h>

#include <gtest/gtest.h>

namespace semel {
namespace {

TEST(AdmitStatement, TellsWhatItHas) {
  const auto update = admit_statement("UPDATE t SET a = a + ? WHERE id = ?; -- done").value();
  EXPECT_EQ(update->sql, "UPDATE t SET a = a + ? WHERE id = ?");
  EXPECT_EQ(update->placeholders, 2U);
  EXPECT_FALSE(update->returns_rows);
  EXPECT_TRUE(admit_statement("SELECT 1").value()->returns_rows);
  EXPECT_TRUE(admit_statement("SELECT 1").value()->only_reads());
  const auto removing = admit_statement("DELETE FROM shop.\"T\" RETURNING id").value();
  EXPECT_TRUE(removing->returns_rows);
  EXPECT_FALSE(removing->only_reads());
  EXPECT_EQ(removing->writes, std::vector<std::string>{"T"});
}

class Never final : public RowsRule {
 public:
  std::optional<Otherwise> judge(std::int64_t, const Rows&) const noexcept override {
    return Otherwise{dead("by the rule"), false};
  }
};

TEST(Miss, ANumberOfRowsSaysItBeforeARule) {
  RecordedStatement recorded;
  EXPECT_FALSE(miss_of(recorded, 0, {})) << "nothing was declared";
  recorded.rule = std::make_shared<const Never>();
  EXPECT_EQ(miss_of(recorded, 1, {})->verdict.reason(), "by the rule");
  recorded.expect_rows = 1;
  recorded.otherwise = {dead("by the number"), false};
  EXPECT_EQ(miss_of(recorded, 0, {})->verdict.reason(), "by the number");
  EXPECT_FALSE(miss_of(recorded, 1, {})) << "who declares a number means it";
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
