#include "base/sql_lexer.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>

namespace semel::sql {
namespace {

using Names = std::vector<std::string>;

std::string verb(std::string_view sql) {
  const Result<Lexed> lexed = lex(sql);
  return lexed ? lexed->verb : "refused: " + lexed.error().message;
}
std::string text(std::string_view sql) { return lex(sql).value().text; }
Names params(std::string_view sql) { return lex(sql).value().params; }
Names writes(std::string_view sql) { return lex(sql).value().writes; }
bool refused(std::string_view sql) {
  const Result<Lexed> lexed = lex(sql);
  EXPECT_TRUE(lexed || lexed.error().kind == ErrorKind::kRejected);
  return !lexed;
}
bool admitted(std::string_view sql) { return admit(lex(sql).value()).has_value(); }

TEST(Lex, FindsTheVerb) {
  EXPECT_EQ(verb("select 1"), "SELECT");
  EXPECT_EQ(verb("  -- why\n /* x */ Insert INTO t VALUES (1)"), "INSERT");
  EXPECT_EQ(verb("VALUES (1)"), "VALUES");
  EXPECT_EQ(verb("REPLACE INTO t VALUES (1)"), "REPLACE");
  EXPECT_EQ(verb("(SELECT 1)"), "");
  EXPECT_EQ(verb("\"select\" 1"), "");
}

TEST(Lex, FindsTheVerbBehindWith) {
  EXPECT_EQ(verb("WITH a AS (SELECT 1) SELECT * FROM a"), "SELECT");
  EXPECT_EQ(verb("WITH a AS (SELECT 1), b(x, y) AS NOT MATERIALIZED (SELECT (2), 3) "
                 "DELETE FROM t WHERE id IN (SELECT x FROM b)"),
            "DELETE");
  EXPECT_EQ(verb("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                 "INSERT INTO t SELECT i FROM n"),
            "INSERT");
  EXPECT_EQ(verb("WITH recursive AS (SELECT 1) UPDATE t SET a = 1"), "UPDATE");
  EXPECT_EQ(verb("WITH \"delete\" AS MATERIALIZED (VALUES (1)) SELECT 1"), "SELECT");
  EXPECT_EQ(verb("WITH a AS (SELECT 1) DROP TABLE t"), "DROP");
  for (const char* broken :
       {"WITH", "WITH a", "WITH a AS", "WITH a AS SELECT 1", "WITH a AS (SELECT 1)",
        "WITH a AS (SELECT 1),", "WITH RECURSIVE", "WITH a AS NOT", "WITH a(b) (SELECT 1)"}) {
    EXPECT_EQ(verb(broken), "") << broken;
  }
}

TEST(Lex, WritesEveryPlaceholderAsAQuestionMark) {
  EXPECT_EQ(text("UPDATE t SET a = :amount WHERE id=:id ;"), "UPDATE t SET a = ? WHERE id=?");
  EXPECT_EQ(params("UPDATE t SET a = :amount WHERE id = ? AND b = :amount"),
            Names({"amount", "", "amount"}));
  EXPECT_EQ(text("SELECT a::text, :b::int"), "SELECT a::text, ?::int");
  EXPECT_EQ(params("SELECT a::text, :b::int"), Names({"b"}));
}

TEST(Lex, LooksIntoNothingThatIsQuoted) {
  EXPECT_TRUE(
      params("SELECT ':a ? ''', \":b\", `:c?`, [:d], 'it''s ?' -- :e ?\n /* :f ? */").empty());
  EXPECT_EQ(text("SELECT ';' , '--', '/*'"), "SELECT ';' , '--', '/*'");
  EXPECT_EQ(params("SELECT '''', ?"), Names({""}));
}

TEST(Lex, LeavesCommentsAndSemicolonsOut) {
  EXPECT_EQ(text("SELECT/* a */1 -- b\n"), "SELECT 1");
  EXPECT_EQ(text("SELECT 1;;\n; -- end"), "SELECT 1");
  EXPECT_EQ(text("-- only the rest\nSELECT 1"), "SELECT 1");
  EXPECT_EQ(text("INSERT INTO t /*! , semel_x */ VALUES (1)"), "INSERT INTO t   VALUES (1)");
}

TEST(Lex, RefusesWhatItCannotAnswerFor) {
  for (const char* bad : {"",
                          "  ",
                          ";",
                          "-- x",
                          "/* x */",
                          "SELECT 1; SELECT 2",
                          "SELECT 'a",
                          "SELECT \"a",
                          "SELECT `a",
                          "SELECT [a",
                          "SELECT 1 /* a",
                          "SELECT ?1",
                          "SELECT @a",
                          "SELECT @@a",
                          "SELECT $1",
                          "SELECT $a",
                          "SELECT $$a$$",
                          "SELECT :1",
                          "SELECT a : b",
                          "SELECT :",
                          "SELECT (1",
                          "SELECT 1)",
                          "SELECT '''",
                          "COMMIT; --\nSELECT 1",
                          "UPDATE U&\"s\\0065mel_x\" SET a = 1"}) {
    EXPECT_TRUE(refused(bad)) << bad;
  }
  EXPECT_TRUE(refused(std::string_view("SELECT 1\0; COMMIT", 17)));
  EXPECT_TRUE(refused(std::string_view("SELECT 'a\0'", 11)));
  EXPECT_FALSE(refused("SELECT a @> b"));
  EXPECT_FALSE(refused("SELECT u & \"b\", U&'s'"));
}

TEST(Lex, NamesTheTablesWritten) {
  EXPECT_EQ(writes("INSERT OR IGNORE INTO main.t(a) VALUES (1)"), Names({"t"}));
  EXPECT_EQ(writes("UPDATE OR FAIL \"My t\" SET a = 1"), Names({"My t"}));
  EXPECT_EQ(writes("UPDATE ONLY t SET a = 1"), Names({"t"}));
  EXPECT_EQ(writes("UPDATE only SET a = 1"), Names({"only"}));
  EXPECT_EQ(writes("DELETE FROM [a].[b] WHERE 1"), Names({"b"}));
  EXPECT_EQ(writes("REPLACE INTO 'quoted' VALUES (1)"), Names({"quoted"}));
  EXPECT_EQ(writes("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1"), Names({"t"}));
  EXPECT_EQ(writes("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE b = 1"), Names({"t"}));
  EXPECT_EQ(writes("SELECT * FROM t FOR UPDATE"), Names({}));
  EXPECT_EQ(writes("SELECT * FROM t FOR NO KEY UPDATE OF t"), Names({}));
  EXPECT_EQ(writes("SELECT 'INSERT INTO x'"), Names({}));
  EXPECT_EQ(writes("INSERT t VALUES (1)"), Names({"t"}));
  EXPECT_EQ(writes("INSERT LOW_PRIORITY IGNORE INTO t VALUES (1)"), Names({"t"}));
  EXPECT_EQ(writes("REPLACE DELAYED a.t VALUES (1)"), Names({"t"}));
  EXPECT_EQ(writes("INSERT OR REPLACE INTO t VALUES (1)"), Names({"t"}));
  EXPECT_EQ(writes("SELECT REPLACE(a, 'x', 'y'), INSERT(a, 1, 2, 'b') FROM t"), Names({}));
  EXPECT_EQ(writes("UPDATE LOW_PRIORITY IGNORE t SET a = 1"), Names({"t"}));
  EXPECT_EQ(writes("UPDATE ignore SET a = 1"), Names({"ignore"}));
  EXPECT_EQ(writes("UPDATE ONLY (t) SET a = 1"), Names({"t"}));
  EXPECT_EQ(writes("DELETE LOW_PRIORITY QUICK FROM t"), Names({"t"}));
  EXPECT_EQ(writes("DELETE r FROM t AS r"), Names({"r"}));
  EXPECT_EQ(writes("WITH d AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM d"),
            Names({"a", "b"}));
}

TEST(Lex, NamesAllTablesOfAnUpdateOrADelete) {
  const auto joined = [](std::string_view sql) { return lex(sql).value().joined; };
  EXPECT_EQ(joined("UPDATE a JOIN b.c AS x ON a.d = f(x.e, x.g), h SET i = 1, j = 2 WHERE k = 1"),
            Names({"a", "c", "h"}));
  EXPECT_EQ(joined("UPDATE (a JOIN b USING (d, e)) SET a.c = 1"), Names({"a", "b"}));
  EXPECT_EQ(joined("UPDATE a, (SELECT b FROM c) AS d SET e = 1"), Names({"a"}));
  EXPECT_EQ(joined("DELETE a, b FROM c AS a JOIN d AS b WHERE e IN (SELECT 1 FROM f)"),
            Names({"a", "b", "c", "d"}));
  EXPECT_EQ(joined("DELETE FROM a USING b, c WHERE d = 1"), Names({"a", "b", "c"}));
  EXPECT_EQ(joined("WITH a AS (DELETE FROM b RETURNING *) UPDATE c SET d = 1 FROM a"),
            Names({"b", "c"}));
  EXPECT_EQ(joined("INSERT INTO a SELECT b FROM c"), Names({}));
}

TEST(Lex, KnowsWhatReturnsRows) {
  EXPECT_TRUE(lex("SELECT 1")->returns_rows);
  EXPECT_TRUE(lex("VALUES (1)")->returns_rows);
  EXPECT_TRUE(lex("INSERT INTO t VALUES (1) returning id")->returns_rows);
  EXPECT_FALSE(lex("INSERT INTO t VALUES ('RETURNING')")->returns_rows);
  EXPECT_FALSE(lex("INSERT INTO t SELECT 1")->returns_rows);
  EXPECT_TRUE(lex("WITH a AS (SELECT 1) SELECT 1")->returns_rows);
}

TEST(Admit, TakesWhatAHandlerMayRun) {
  for (const char* good :
       {"SELECT 1", "INSERT INTO t VALUES (?)", "UPDATE t SET a = 1", "DELETE FROM t",
        "REPLACE INTO t VALUES (1)", "VALUES (1)", "WITH a AS (SELECT 1) SELECT * FROM a",
        "INSERT OR IGNORE INTO t VALUES (1)", "SELECT * FROM semel_records",
        "INSERT INTO semelx VALUES (1)", "INSERT INTO t SELECT 'semel_', 'COMMIT'",
        "INSERT INTO t (semel_id) SELECT semel_id FROM semel_record",
        "UPDATE t JOIN u USING (id, semel_id) SET t.semel_id = f(1, semel_id) WHERE semel_id = 1",
        "DELETE FROM t WHERE id IN (SELECT id FROM semel_record) ORDER BY semel_id"}) {
    EXPECT_TRUE(admitted(good)) << good;
  }
}

TEST(Admit, RefusesWhatEndsTheTransactionOrChangesTheSchema) {
  for (const char* bad : {"COMMIT",
                          "commit",
                          "END",
                          "ROLLBACK",
                          "ROLLBACK TO x",
                          "BEGIN",
                          "SAVEPOINT x",
                          "RELEASE x",
                          "CREATE TABLE t(a)",
                          "DROP TABLE t",
                          "ALTER TABLE t ADD a",
                          "PRAGMA x",
                          "ATTACH 'x' AS y",
                          "DETACH y",
                          "VACUUM",
                          "REINDEX",
                          "ANALYZE",
                          "EXPLAIN SELECT 1",
                          "SET x = 1",
                          "LOCK TABLE t",
                          "TRUNCATE t",
                          "CALL f()",
                          "DO 'x'",
                          "COPY t FROM 'x'",
                          "/* SELECT */ COMMIT",
                          "WITH a AS (SELECT 1) CREATE TABLE t(a)",
                          "(SELECT 1)",
                          "1",
                          "INSERT OR ROLLBACK INTO t VALUES (1)",
                          "UPDATE OR ROLLBACK t SET a = 1",
                          "SELECT * INTO t FROM u",
                          "\xEF\xBB\xBFSELECT 1"}) {
    const Result<Lexed> lexed = lex(bad);
    ASSERT_TRUE(lexed) << bad;
    const Result<void> answer = admit(*lexed);
    ASSERT_FALSE(answer) << bad;
    EXPECT_EQ(answer.error().kind, ErrorKind::kRejected);
    EXPECT_FALSE(answer.error().hint.empty());
  }
}

TEST(Admit, RefusesWritesToOurTables) {
  for (const char* bad : {"INSERT INTO semel_live VALUES (1)",
                          "UPDATE SEMEL_live SET a = 1",
                          "DELETE FROM \"semel_live\"",
                          "DELETE FROM main.`Semel_live`",
                          "REPLACE INTO [semel_live] VALUES (1)",
                          "INSERT OR IGNORE INTO 'semel_live' VALUES (1)",
                          "INSERT INTO main . semel_live VALUES (1)",
                          "UPDATE OR IGNORE semel_x SET a = 1",
                          "WITH d AS (DELETE FROM semel_x RETURNING 1) SELECT * FROM d",
                          "UPDATE/**/semel_x SET a = 1",
                          "INSERT semel_x VALUES (1)",
                          "REPLACE semel_x VALUES (1)",
                          "INSERT LOW_PRIORITY semel_x VALUES (1)",
                          "UPDATE LOW_PRIORITY semel_x SET a = 1",
                          "DELETE LOW_PRIORITY FROM semel_x",
                          "UPDATE ONLY (semel_x) SET a = 1",
                          "UPDATE t JOIN semel_x r ON r.a = t.a SET r.b = 1",
                          "UPDATE t, semel_x r SET r.b = 1",
                          "DELETE r FROM semel_x AS r",
                          "DELETE FROM r USING t, semel_x AS r"}) {
    EXPECT_FALSE(admitted(bad)) << bad;
  }
}

// Random text: never a crash, and what was lexed lexes to the same again.
TEST(Lex, SurvivesRandomText) {
  static constexpr std::string_view kPieces[] = {
      "SELECT ",    "WITH ",      "a",    " AS ",     "(",         ")",
      ",",          "'",          "\"",   "`",        "[",         "]",
      "--",         "\n",         "/*",   "*/",       "?",         ":x",
      "::",         ":",          "@",    "$",        ";",         "INSERT ",
      "INTO ",      "UPDATE ",    "SET ", "OR ",      "ROLLBACK ", "DELETE ",
      "FROM ",      "ONLY ",      ".",    "semel_x ", "NOT ",      "MATERIALIZED ",
      "RECURSIVE ", "RETURNING ", "1",    " ",        "\xC3\xA9"};
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  int lexed = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string sql;
    for (std::uint64_t n = random() % 14; n > 0; --n) {
      if (random() % 12 == 0) {
        sql += static_cast<char>(random() % 256);
      } else {
        sql += kPieces[random() % std::size(kPieces)];
      }
    }
    const Result<Lexed> first = lex(sql);
    if (!first) continue;
    ++lexed;
    (void)admit(*first);
    const Result<Lexed> second = lex(first->text);
    ASSERT_TRUE(second) << sql << " seed " << seed;
    ASSERT_EQ(second->text, first->text) << sql << " seed " << seed;
    ASSERT_EQ(second->verb, first->verb) << sql << " seed " << seed;
    ASSERT_EQ(second->writes, first->writes) << sql << " seed " << seed;
    ASSERT_EQ(second->params.size(), first->params.size()) << sql << " seed " << seed;
  }
  EXPECT_GT(lexed, 1000);
}

}  // namespace
}  // namespace semel::sql
