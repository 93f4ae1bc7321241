// The parts of texts sent to the server: URLs, literals, the shared statements.
#include <gtest/gtest.h>

#include "stores/mysql/dialect.h"
#include "stores/mysql/literal.h"
#include "stores/mysql/url.h"
#include "stores/sql/failure.h"
#include "stores/sql/tables.h"

namespace semel::mysql {
namespace {

TEST(MySqlUrl, SaysWhereAndWho) {
  const Target target = target_of("mysql://us%40er:p%3Aw:d@db.example:3307/shop?tls-ca=/ca.pem");
  EXPECT_EQ(target.user, "us@er");
  EXPECT_EQ(target.password, "p:w:d");
  EXPECT_EQ(target.host, "db.example");
  EXPECT_EQ(target.port, 3307U);
  EXPECT_EQ(target.database, "shop");
  EXPECT_EQ(target.tls, Target::Tls::kVerify);
  EXPECT_EQ(target.tls_ca, "/ca.pem");
}

TEST(MySqlUrl, TakesWhatIsUsualForGranted) {
  const Target target = target_of("mariadb://root@[::1]/shop?socket=%2Frun%2Fs");
  EXPECT_EQ(target.host, "::1");
  EXPECT_EQ(target.port, 3306U);
  EXPECT_EQ(target.socket, "/run/s");
  EXPECT_EQ(target.tls, Target::Tls::kOff);
}

TEST(MySqlUrl, WhatCannotBeReadIsToldWithoutThePassword) {
  for (const char* url :
       {"postgresql://u:secret@h/d", "mysql:secret", "mysql://u:secret@h:port/d",
        "mysql://u:secret@h:70000/d", "mysql://u:secret@h/", "mysql://u:secret@h/d?sslmode=on",
        "mysql://u:secret@h/d?tls=maybe", "mysql://u:secret%zz@h/d", "mysql://u:secret@h/d%4",
        "mysql://u:secret@h/d?tls-ca=/c&tls=on", "mysql://u:secret@h/d?tls=off&tls-ca=/c",
        "mysql://u:secret@h/d?tls=verify&tls=off"}) {
    SCOPED_TRACE(url);
    try {
      target_of(url);
      ADD_FAILURE() << "it was read";
    } catch (const sql::Failure& failed) {
      EXPECT_EQ(failed.error().code, "R259");
      EXPECT_EQ(failed.error().kind, ErrorKind::kRejected);
      EXPECT_EQ(failed.error().message.find("secret"), std::string::npos);
    }
  }
}

std::string written(const sql::Param& param) {
  std::string out;
  append(out, param, Literals::kOurs);
  return out;
}

TEST(MySqlLiteral, AQuoteIsDoubledAndNothingElseMeansAnything) {
  EXPECT_EQ(written(sql::Word{"it's"}), "'it''s'");
  EXPECT_EQ(written(BytesView("'\\''")), "x'275c2727'");
  EXPECT_EQ(written(BytesView("")), "x''");
  EXPECT_EQ(written(BytesView("a\0'", 3)), "x'610027'");
  const Bytes many = Bytes(10'000, 'a') + '\'';
  EXPECT_EQ(written(many), "_binary'" + many + "''") << "digits are twice as many";
}

TEST(MySqlLiteral, ABlobIsAStringWhereverItStands) {
  std::string out;
  EXPECT_TRUE(append(out, Value(Blob{Bytes("1'", 2)}), Literals::kOurs));
  EXPECT_EQ(out, "_binary'1'''") << "digits would be a number beside a number";
}

TEST(MySqlLiteral, NumbersAreReadAsTheyAre) {
  EXPECT_EQ(written(7), "7");
  EXPECT_EQ(written(-7), "(-7)") << "two minus signs are a comment";
  EXPECT_EQ(written(true), "TRUE");
  EXPECT_EQ(written(std::optional<std::int64_t>()), "NULL");
  std::string out;
  EXPECT_TRUE(append(out, Value(1.5), Literals::kOurs));
  EXPECT_EQ(out, "(1.5e0)") << "no decimal";
  EXPECT_FALSE(append(out, Value(1.0 / 0.0 * 1.0), Literals::kOurs));
}

// A literal with an exponent, and a text next to a number, are doubles for these servers.
TEST(MySqlLiteral, ADecimalHasNoExponentAndAllItsDigits) {
  const auto written = [](const char* text) {
    std::string out;
    return append(out, Value(Decimal{text}), Literals::kOurs) ? out : "(refused)";
  };
  EXPECT_EQ(written("-12.50"), "(-12.5)");
  EXPECT_EQ(written("1.5e3"), "(1500)");
  EXPECT_EQ(written("25e-4"), "(0.0025)");
  EXPECT_EQ(written("12345678901234567890.123456789"), "(12345678901234567890.123456789)");
  EXPECT_EQ(written("1e100"), "(1e+100)") << "past DECIMAL, and a double's own text";
  EXPECT_EQ(written("5e-40"), "(5e-40)");
  const std::string digits(66, '1');
  EXPECT_EQ(written(digits.c_str()), "(refused)");
  EXPECT_EQ(written("1e999"), "(refused)");
}

TEST(MySqlLiteral, TimesAreWrittenAndReadAgain) {
  for (const std::int64_t millis : {0LL, 1LL, 999LL, 1'700'000'000'123LL, 253'402'214'400'000LL}) {
    const StoreTime time{std::chrono::milliseconds(millis)};
    const std::string text = written(time);
    EXPECT_EQ(time_of(std::string_view(text).substr(sizeof "TIMESTAMP")), time) << text;
  }
  EXPECT_EQ(time_of("1970-01-01 00:00:01"), StoreTime(std::chrono::milliseconds(1000)));
  EXPECT_EQ(time_of("1970-01-01 00:00:00.001999"), StoreTime(std::chrono::milliseconds(1)));
}

TEST(MySqlLiteral, ValuesAreWrittenWhereTheyBelong) {
  const std::initializer_list<sql::Param> params = {1, sql::Word{"?2"}, BytesView("x")};
  EXPECT_EQ(filled("a = ?2 AND b = ?1 OR c = ?2 AND d = ?3", {params.begin(), params.size()},
                   Literals::kOurs),
            "a = '?2' AND b = 1 OR c = '?2' AND d = x'78'");
}

TEST(MySqlDialect, AnUpsertIsSaidInItsOwnWay) {
  const Dialect dialect;
  EXPECT_EQ(dialect.translated("INSERT INTO t (a, b) VALUES (?1, ?2) ON CONFLICT (a) DO NOTHING"),
            "INSERT INTO t (a, b) VALUES (?1, ?2) ON DUPLICATE KEY UPDATE a = a");
  EXPECT_EQ(dialect.translated("INSERT INTO t VALUES (?1) ON CONFLICT (a, b) DO UPDATE SET c = "
                               "excluded.c, d = excluded.d"),
            "INSERT INTO t VALUES (?1) ON DUPLICATE KEY UPDATE c = VALUES(c), d = VALUES(d)");
}

// If the shared texts change, this test shows that the rules must change too.
TEST(MySqlDialect, NoSharedTextIsLeftInAnothersWords) {
  const Dialect dialect;
  const sql::TableTexts texts(dialect);
  for (const sql::SqlText* text :
       {&texts.held.free, &texts.held.lined, &texts.held.remove, &texts.held.take, &texts.held.show,
        &texts.held.lines.join, &texts.held.lines.put_behind, &texts.held.lines.show_first}) {
    EXPECT_NE(text->sql().find("FORCE INDEX (PRIMARY)"), std::string::npos) << text->sql();
  }
  for (const sql::SqlText* text :
       {&texts.held.due, &texts.held.due_numbers, &texts.held.any_due, &texts.held.taken,
        &texts.held.taken_from, &texts.held.peek, &texts.held.depth}) {
    EXPECT_NE(text->sql().find("FORCE INDEX (semel_held_due)"), std::string::npos) << text->sql();
  }
  for (const sql::SqlText* text : {&texts.held.behind, &texts.held.lined, &texts.held.lines.ends,
                                   &texts.held.lines.waits, &texts.held.lines.all}) {
    EXPECT_NE(text->sql().find("FORCE INDEX (semel_held_line)"), std::string::npos) << text->sql();
  }
  for (const sql::SqlText* text :
       {&texts.records.save, &texts.records.list_state, &texts.consumers.add, &texts.inbox.put,
        &texts.dead_letters.keep, &texts.dead_letters.add, &texts.runs.add, &texts.runs.first_crash,
        &texts.gates.shut}) {
    for (const char* word : {"ON CONFLICT", "excluded", "CAST"}) {
      EXPECT_EQ(text->sql().find(word), std::string::npos) << text->sql();
    }
  }
}

}  // namespace
}  // namespace semel::mysql
