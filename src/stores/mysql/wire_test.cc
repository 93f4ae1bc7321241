// The wire, on a real server.
#include "stores/mysql/wire.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mysql.h>

#include <memory>
#include <random>
#include <string_view>

#include "stores/mysql/literal.h"
#include "tests/support/mysql_servers.h"

namespace semel::mysql {
namespace {

class MySqlWire : public testing::Test {
 protected:
  MySqlWire()
      : database_(test::MariaDbServer::shared().new_database()),
        wire_(target_of(test::MariaDbServer::shared().url(database_))) {}

  Answers run(std::initializer_list<std::string> statements) {
    for (const std::string& statement : statements) wire_.send(statement);
    return wire_.run(Loss::kNothingDone);
  }
  std::int64_t count(const std::string& from) {
    sql::Answer answer = answer_of(run({"SELECT COUNT(*) FROM " + from}).said.back());
    answer.next();
    return answer.integer(0);
  }

  std::string database_;
  Wire wire_;
};

TEST_F(MySqlWire, AnswersComeInOrderAndEndAtARefusal) {
  Answers answers =
      run({"CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)", "SELECT a FROM t",
           "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (3)"});
  ASSERT_EQ(answers.said.size(), 3U);
  EXPECT_EQ(answers.said[1].changed, 2U);
  EXPECT_EQ(answers.said[2].changed, 2U);
  ASSERT_TRUE(answers.refused.has_value());
  EXPECT_EQ(answers.refused->code, 1062U);
  EXPECT_EQ(count("t"), 2) << "nothing behind the refusal ran";
}

// As a proxy reports a server that it lost, and keeps the client's connection.
TEST_F(MySqlWire, ALostServerIsInDoubtBehindAProxyToo) {
  constexpr const char* kLost = "SIGNAL SQLSTATE '08S01'";
  EXPECT_TRUE(run({kLost}).refused) << "the transaction is gone";
  ASSERT_TRUE(wire_.whole());
  wire_.send(kLost);
  try {
    wire_.run(Loss::kInDoubt);
    FAIL();
  } catch (const sql::Failure& failed) {
    EXPECT_EQ(failed.error().kind, ErrorKind::kInDoubt) << failed.error().message;
  }
  EXPECT_FALSE(wire_.whole());
}

// A server of a replication group sends the transaction to the group before it undoes it.
TEST_F(MySqlWire, ACommitThatGroupReplicationRefusesIsInDoubt) {
  for (const char* const refusal : {"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3100",
                                    "SIGNAL SQLSTATE '40000' SET MYSQL_ERRNO = 3101"}) {
    SCOPED_TRACE(refusal);
    Wire wire(target_of(test::MariaDbServer::shared().url(database_)));
    wire.send(refusal);
    const Answers answers = wire.run(Loss::kNothingDone);
    ASSERT_TRUE(answers.refused) << "before the commit nothing was sent";
    EXPECT_EQ(error_of(*answers.refused).kind, ErrorKind::kRetryTransaction);
    wire.send(refusal);
    try {
      wire.run(Loss::kInDoubt);
      FAIL();
    } catch (const sql::Failure& failed) {
      EXPECT_EQ(failed.error().kind, ErrorKind::kInDoubt) << failed.error().message;
    }
    EXPECT_FALSE(wire.whole());
  }
}

TEST_F(MySqlWire, RowsThatWereFoundCountAsChanged) {
  run({"CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1, 1), (2, 2)"});
  Answers answers = run({"UPDATE t SET b = 1", "UPDATE t SET b = 1",
                         "INSERT INTO t VALUES (1, 9), (3, 9) ON DUPLICATE KEY UPDATE a = a"});
  EXPECT_EQ(answers.said[0].changed, 2U);
  EXPECT_EQ(answers.said[1].changed, 2U) << "also where they stay as they are";
  EXPECT_EQ(answers.said[2].changed, 1U) << "but one that an upsert meets does not";
}

TEST_F(MySqlWire, RowsThatWereFoundCountInEveryLanguage) {
  run({"CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1, 1), (2, 2)"});
  const auto& server = test::MariaDbServer::shared();
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> owners(mysql_init(nullptr), &mysql_close);
  ASSERT_NE(mysql_real_connect(owners.get(), "127.0.0.1", "root", "", database_.c_str(),
                               static_cast<unsigned>(server.port()), nullptr, 0),
            nullptr);
  ASSERT_EQ(mysql_query(owners.get(), "SET lc_messages = 'de_DE'"), 0);
  Wire borrowed(owners.get());
  for (const bool changes : {true, false}) {
    borrowed.send("UPDATE t SET b = 1");
    const Answers answers = borrowed.run(Loss::kNothingDone);
    ASSERT_EQ(answers.said.size(), 1U);
    EXPECT_EQ(answers.said[0].changed, 2U) << changes;
    EXPECT_FALSE(std::string_view(mysql_info(owners.get())).starts_with("Rows matched"));
  }
}

TEST_F(MySqlWire, EveryByteArrivesAsItIs) {
  std::vector<Bytes> all = {"",
                            "'",
                            "''",
                            "\\",
                            "\\'",
                            "a\\",
                            Bytes(1, '\0'),
                            "\xf0'",
                            "\xe4\xbd'",
                            "\xc3",
                            "\x1a\n\r\"`;--#/*",
                            "?1 ?"};
  std::mt19937 random(3);  // the same bytes in each run
  for (int i = 0; i < 200; ++i) {
    Bytes& bytes = all.emplace_back();
    for (int length = static_cast<int>(random() % 40); length > 0; --length) {
      // Mostly bytes that end a string or seem to begin a character.
      constexpr std::string_view kHard("'\\\xf0\x9f\x98\x80\xc3\xe4\0;", 11);
      bytes += random() % 3 == 0 ? static_cast<char>(random()) : kHard[random() % kHard.size()];
    }
  }
  for (const Bytes& bytes : all) {
    std::string text = "SELECT ";
    append_bytes(text, bytes, Literals::kOurs);
    text += ", ";
    append(text, Value(Blob{bytes}), Literals::kOurs);
    wire_.send(text);
  }
  const Answers answers = wire_.run(Loss::kNothingDone);
  ASSERT_FALSE(answers.refused.has_value()) << answers.refused->said;
  ASSERT_EQ(answers.said.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    sql::Answer answer = answer_of(answers.said[i]);
    ASSERT_TRUE(answer.next());
    EXPECT_EQ(answer.bytes(0), all[i]) << i;
    EXPECT_EQ(answer.bytes(1), all[i]) << i;
  }
}

TEST_F(MySqlWire, MuchGoesAheadInPartsAndTooMuchIsRefusedHere) {
  run({"CREATE TABLE t (a LONGBLOB)"});
  const Bytes big(700'000, 'x');
  for (int i = 0; i < 5; ++i) {
    std::string text = "INSERT INTO t VALUES (";
    append_bytes(text, big, Literals::kOurs);
    wire_.send(text + ")");
  }
  EXPECT_EQ(wire_.run(Loss::kNothingDone).said.size(), 5U);
  std::string text = "INSERT INTO t VALUES (";
  append_bytes(text, Bytes(64 << 20, 'x'), Literals::kOurs);
  try {
    wire_.send(text + ")");
    ADD_FAILURE() << "the server's default takes less";
  } catch (const sql::Failure& failed) {
    EXPECT_EQ(failed.error().kind, ErrorKind::kLimit);
  }
  EXPECT_EQ(count("t"), 5) << "the connection lives";
}

TEST_F(MySqlWire, WhatIsSentBehindARefusedPartDoesNotRun) {
  run({"CREATE TABLE t (a INT PRIMARY KEY, b LONGBLOB)"});
  wire_.send("INSERT INTO nowhere VALUES (1)");
  std::string text = "INSERT INTO t VALUES (1, ";
  append_bytes(text, Bytes(2 << 20, 'x'), Literals::kOurs);
  wire_.send(text + ")");
  const Answers answers = wire_.run(Loss::kNothingDone);
  ASSERT_TRUE(answers.refused.has_value());
  EXPECT_EQ(answers.refused->code, 1146U);
  EXPECT_EQ(count("t"), 0);
}

TEST_F(MySqlWire, ASessionWhoseStringsMeanSomethingElseIsNotUsed) {
  wire_.send("SET SESSION sql_mode = ''");
  EXPECT_THROW(wire_.run(Loss::kNothingDone), sql::Failure);
  EXPECT_FALSE(wire_.whole());
}

TEST_F(MySqlWire, ALostAnswerSaysWhatItMayMean) {
  for (const Loss loss : {Loss::kNothingDone, Loss::kInDoubt}) {
    Wire mine(target_of(test::MariaDbServer::shared().url(database_)));
    run({fmt::format("KILL {}", mine.session())});
    mine.send("SELECT 1");
    try {
      mine.run(loss);
      ADD_FAILURE() << "it was killed";
    } catch (const sql::Failure& failed) {
      EXPECT_EQ(failed.error().kind,
                loss == Loss::kInDoubt ? ErrorKind::kInDoubt : ErrorKind::kUnavailable)
          << failed.error().message;
      EXPECT_EQ(failed.error().code, "R250");
    }
    EXPECT_FALSE(mine.whole());
  }
}

}  // namespace
}  // namespace semel::mysql
