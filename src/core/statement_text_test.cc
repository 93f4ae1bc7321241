#include "core/statement_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace semel::core {
namespace {

TEST(StatementText, IsOneLine) {
  EXPECT_EQ(statement_text("UPDATE account SET balance = ?"), "UPDATE account SET balance = ?");
  EXPECT_EQ(statement_text("\n   UPDATE account\n\t SET balance = ?\r\n  "),
            "UPDATE account SET balance = ?");
  EXPECT_EQ(statement_text(""), "");
  EXPECT_EQ(statement_text(" \n"), "");
}

TEST(StatementText, EscapesWhatATerminalActsOn) {
  EXPECT_EQ(statement_text("SELECT '\x1b[2J' -- größer"), "SELECT '\\x1b[2J' -- größer");
  EXPECT_EQ(statement_text(std::string_view("SELECT '\0'", 10)), "SELECT '\\x00'");
  EXPECT_EQ(statement_text("SELECT '\xff\xe2\x80\xae'"), "SELECT '\\xff\\u202e'");
}

TEST(StatementText, IsCutBetweenCharacters) {
  const std::string fits(kMostStatementText, 'x');
  EXPECT_EQ(statement_text(fits), fits);
  EXPECT_EQ(statement_text(fits + "  "), fits);
  EXPECT_EQ(statement_text(fits + "y"), fits + "…");
  std::string wide = "x";
  while (wide.size() <= 2 * kMostStatementText) wide += "ü";
  const std::string cut = statement_text(wide);
  EXPECT_TRUE(is_utf8(cut));
  EXPECT_TRUE(cut.ends_with("ü…"));
  EXPECT_EQ(cut.size(), kMostStatementText - 1 + std::string_view("…").size());
}

TEST(StatementText, FollowsTheMessage) {
  Error error{ErrorKind::kRejected, "handler.sql.syntax", "no such table: acount", {}};
  name_statement(error, "UPDATE acount SET balance = ?");
  EXPECT_EQ(error.message, "no such table: acount, in: UPDATE acount SET balance = ?");
}

}  // namespace
}  // namespace semel::core
