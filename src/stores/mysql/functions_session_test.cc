// Procedures and the state of the session that calls them: its clock, its transaction and what that
// sees, calls that were killed in it, and answers that are larger than one of its packets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/key_encoding.h"
#include "stores/mysql/test_functions.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

constexpr unsigned kQueryWasKilled = 1317;

class ProcedureSession : public FunctionsTest {
 protected:
  // Kills the call while it waits for a row that another session has; what it ended with.
  unsigned killed(ClientSession& session, const std::string& call) {
    const std::string id = session.ask("SELECT CONNECTION_ID()");
    unsigned code = 0;
    std::thread waits([&] { code = session.refused(call).code; });
    EXPECT_TRUE(test::comes_true([&] { return waits_for_lock(id); }));
    sql("KILL QUERY " + id);
    waits.join();
    return code;
  }
  // information_schema.innodb_trx is cached for as long as it is asked: see lock_waiters.
  bool waits_for_lock(const std::string& session) const {
    const std::string state = sql("SHOW ENGINE INNODB STATUS");
    const std::size_t at = state.rfind(fmt::format(" thread id {},", session));
    if (at == std::string::npos) return false;
    const std::size_t begin = state.rfind("---TRANSACTION ", at);
    return begin != std::string::npos &&
           state.substr(begin, at - begin).find("\nLOCK WAIT ") != std::string::npos;
  }
  // A transaction that makes its effect where the key is new, run again for as long as the server
  // says that a row has changed. Returns the outcome; `runs`: how often it was run.
  std::string consumed(ClientSession& session, const std::string& call, const std::string& key,
                       int& runs) const {
    for (runs = 1;; ++runs) {
      session.ask("START TRANSACTION");
      session.ask(fmt::format("INSERT INTO work VALUES ('{}')", key));
      const auto answer = session.run("CALL semel_" + call);
      if (answer.refusal.code == kRowChanged) {
        EXPECT_EQ(session.ask("SELECT @@in_transaction"), "0") << "the whole of it is undone";
        continue;
      }
      EXPECT_EQ(answer.refusal.code, 0U) << call << answer.refusal.message;
      const bool is_list = call.starts_with("claim_many");
      const std::string outcome = answer.rows.at(0).at(is_list ? 2 : 0);
      if (outcome == "new") session.ask(fmt::format("INSERT INTO effect VALUES ('{}')", key));
      session.ask("COMMIT");
      return outcome;
    }
  }
  // Answers the call, which may first be told that an earlier one is undone.
  static std::string answered(ClientSession& session, const std::string& call) {
    const auto refusal = session.refused(call);
    if (refusal.code == 0) return "at once";
    EXPECT_EQ(refusal.state, "40001") << refusal.message;
    const auto again = session.refused(call);
    EXPECT_EQ(again.code, 0U) << again.message;
    return "at the second call";
  }
};

TEST_P(ProcedureSession, ATimeOfItsOwnIsRefused) {
  const Begun held = begun(client_, "held", "60");
  for (const char* const time : {"1000000000", "UNIX_TIMESTAMP() + 3600", "UNIX_TIMESTAMP()"}) {
    client_.ask(fmt::format("SET timestamp = {}", time));
    for (const std::string& call :
         {std::string("begin('payments', 'k', '{}', NULL, 60, NULL)"),
          std::string("begin('payments', 'held', '{}', NULL, 60, NULL)"),
          std::string("claim('payments', 'k', '{}', NULL)"),
          std::string("claim_many('payments', '[\"k\"]', NULL, NULL)"),
          fmt::format("renew('payments', 'held', {}, 60)", hex(held.lease.nonce)),
          fmt::format("retry('payments', 'held', {}, 60, NULL, NULL)", hex(held.lease.nonce)),
          std::string("publish('payments', 'm', NULL, NULL, NULL, NULL, NULL)")}) {
      const auto refusal = client_.refused("CALL semel_" + call);
      EXPECT_EQ(refusal.state, "SM271") << call << refusal.message;
      EXPECT_NE(refusal.message.find("SET timestamp = DEFAULT"), std::string::npos);
    }
    client_.ask("SET timestamp = DEFAULT");
    EXPECT_EQ(begun(client_, "held").outcome, "busy") << "nobody took it over meanwhile";
  }
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "1");
}

TEST_P(ProcedureSession, ATimeZoneOfItsOwnIsAsGoodAsAnother) {
  for (const char* const zone : {"+13:00", "-11:30", "SYSTEM"}) {
    client_.ask(fmt::format("SET time_zone = '{}'", zone));
    EXPECT_EQ(begun(client_, zone).outcome, "new");
  }
}

// MySQL runs no handler of a procedure whose statement was killed, and MariaDB may not.
TEST_P(ProcedureSession, WhatAKilledCallLeftOpenHoldsNothingBack) {
  ClientSession other(url());
  other.ask("START TRANSACTION");
  EXPECT_EQ(claimed(other, "k"), "new");
  ClientSession session(url());
  EXPECT_EQ(killed(session, "CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)"),
            kQueryWasKilled);
  other.ask("ROLLBACK");
  RecordProperty("answered",
                 answered(session, "CALL semel_begin('payments', 'j', '{}', NULL, NULL, NULL)"));
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "1") << "it is committed";
  EXPECT_EQ(begun(client_, "j").outcome, "busy");
  EXPECT_EQ(begun(client_, "k").outcome, "new");
}

// As MySQL leaves it: the mark of the call's own transaction is what shows it.
TEST_P(ProcedureSession, ATransactionThatACallLeftIsUndoneAndTold) {
  client_.ask("CREATE TABLE effect (name VARCHAR(20))");
  client_.ask("CALL semel_internal_enter(@alone)");
  client_.ask("INSERT INTO effect VALUES ('in the dark')");
  const auto refusal = client_.refused("CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)");
  EXPECT_EQ(refusal.state, "40001") << refusal.message;
  EXPECT_EQ(begun(client_, "k").outcome, "new");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "1");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM effect"), "0");
  // The caller's own transaction has no such mark.
  client_.ask("START TRANSACTION");
  client_.ask("INSERT INTO effect VALUES ('mine')");
  EXPECT_EQ(claimed(client_, "mine"), "new");
  client_.ask("COMMIT");
  EXPECT_EQ(sql("SELECT name FROM effect"), "mine");
}

// As a call leaves it that was killed before its own transaction had the mark.
TEST_P(ProcedureSession, ATransactionThatACallOnlyOpenedIsUndoneAndTold) {
  client_.ask("CREATE TABLE effect (name VARCHAR(20))");
  client_.ask("SET @semel_opening = TRUE");
  client_.ask("START TRANSACTION");
  client_.ask("INSERT INTO effect VALUES ('in the dark')");
  const auto refusal = client_.refused("CALL semel_claim('payments', 'k', '{}', NULL)");
  EXPECT_EQ(refusal.state, "40001") << refusal.message;
  EXPECT_EQ(sql("SELECT COUNT(*) FROM effect"), "0");
  // Told once.
  client_.ask("START TRANSACTION");
  client_.ask("INSERT INTO effect VALUES ('mine')");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("COMMIT");
  EXPECT_EQ(sql("SELECT name FROM effect"), "mine");
  // One that was killed before it opened anything leaves nothing to undo.
  client_.ask("SET @semel_opening = TRUE");
  EXPECT_EQ(claimed(client_, "j"), "new");
  EXPECT_EQ(client_.ask("SELECT @semel_opening IS NULL"), "1");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "2");
}

// Its record and the message that the record belongs to are as they are now.
TEST_P(ProcedureSession, ATransactionThatSeesOlderRowsAnswersWithTheResult) {
  ClientSession old(url());
  old.ask(snapshot_settings().front());
  old.ask("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  old.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(claimed(client_, "due"), "new");
  client_.ask(
      "INSERT INTO semel_inbox (row_id, consumer, received_at, result) VALUES "
      "(5000, 1, UTC_TIMESTAMP(6), 'kept'), (5001, 1, UTC_TIMESTAMP(6), NULL)");
  client_.ask(fmt::format("UPDATE semel_record SET inbox = 5000 WHERE id = {}",
                          hex(core::encode_key(consumer_, "k").view())));
  client_.ask(
      fmt::format("UPDATE semel_record SET inbox = 5001, state = 'retrying', attempt = 1, "
                  "next_at = '2020-01-01' WHERE id = {}",
                  hex(core::encode_key(consumer_, "due").view())));
  EXPECT_EQ(old.ask("SELECT COUNT(*) FROM semel_inbox"), "0");
  EXPECT_EQ(old.ask("CALL semel_claim('payments', 'k', '{}', NULL)"), "duplicate||kept||");
  EXPECT_EQ(old.ask("CALL semel_claim_many('payments', '[\"k\"]', '[\"{}\"]', NULL)"),
            "1|k|duplicate||kept||");
  EXPECT_EQ(claimed(old, "due"), "new");
  old.ask("COMMIT");
  EXPECT_EQ(sql("SELECT processed_at IS NULL FROM semel_inbox WHERE row_id = 5001"), "0");
}

// The second waits for the first, whose rows are newer than what its transaction sees.
TEST_P(ProcedureSession, ARaceOfTransactionsMakesItsEffectOnce) {
  client_.ask("CREATE TABLE work (name VARCHAR(99)); CREATE TABLE effect (name VARCHAR(99))");
  const std::pair<const char*, const char*> calls[] = {
      {"claim('payments', '{}', NULL, NULL)", "duplicate"},
      {"claim_many('payments', '[\"{}\"]', NULL, NULL)", "duplicate"},
      {"begin('payments', '{}', NULL, NULL, 3600, NULL)", "busy"}};
  int keys = 0;
  for (const std::string& setting : snapshot_settings()) {
    const bool strict = setting.ends_with("ON");
    for (const auto& [form, met] : calls) {
      for (const char* const end : {"COMMIT", "ROLLBACK"}) {
        const std::string key = fmt::format("raced {}", ++keys);
        const std::string call = fmt::format(fmt::runtime(form), key);
        client_.ask("START TRANSACTION");
        EXPECT_EQ(client_.refused("CALL semel_" + call).code, 0U);
        client_.ask(fmt::format("INSERT INTO effect VALUES ('{}')", key));
        std::string outcome;
        int runs = 0;
        std::thread second([&] {
          ClientSession session(url());
          session.ask(setting);
          session.ask("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
          outcome = consumed(session, call, key, runs);
        });
        EXPECT_TRUE(test::comes_true([this] { return server().lock_waiters(database_) == 1; }));
        client_.ask(end);
        second.join();
        const bool commits = end == std::string_view("COMMIT");
        EXPECT_EQ(outcome, commits ? met : "new") << setting << call << end;
        EXPECT_EQ(runs, strict && commits ? 2 : 1) << setting << call << end;
        EXPECT_EQ(sql(fmt::format("SELECT COUNT(*) FROM effect WHERE name = '{}'", key)), "1");
        EXPECT_EQ(sql(fmt::format("SELECT COUNT(*) FROM work WHERE name = '{}'", key)), "1");
      }
    }
  }
}

// A table of the session's own hides the store's: its results cannot be read.
TEST_P(ProcedureSession, AListWhoseResultsCannotBeReadClaimsNothing) {
  ClientSession session(url());
  session.ask("CREATE TEMPORARY TABLE semel_inbox (row_id BIGINT)");
  session.ask("START TRANSACTION");
  EXPECT_EQ(claimed(session, "before"), "new");
  EXPECT_EQ(session.refused("CALL semel_claim_many('payments', '[\"k\"]', NULL, NULL)").state,
            "42S22");
  session.ask("COMMIT");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "1");
  EXPECT_EQ(claimed(client_, "k"), "new");
}

TEST_P(ProcedureSession, AKilledListLeavesTheSessionsPatience) {
  ClientSession other(url());
  other.ask("START TRANSACTION");
  EXPECT_EQ(claimed(other, "k"), "new");
  ClientSession session(url());
  session.ask("SET innodb_lock_wait_timeout = 70");
  // As a call that was killed behind its first wait leaves it.
  session.ask("SET @semel_patience = 70, SESSION innodb_lock_wait_timeout = 1");
  EXPECT_EQ(begun(session, "j").outcome, "new");
  EXPECT_EQ(session.ask("SELECT @@innodb_lock_wait_timeout, @semel_patience IS NULL"), "70|1");
  EXPECT_EQ(killed(session, "CALL semel_claim_many('payments', '[\"a\", \"k\"]', NULL, NULL)"),
            kQueryWasKilled);
  other.ask("ROLLBACK");
  answered(session, "CALL semel_claim_many('payments', '[\"a\", \"k\"]', NULL, NULL)");
  EXPECT_EQ(session.ask("SELECT @@innodb_lock_wait_timeout"), "70");
}

// Together they are more than a text of the server's can hold.
TEST_P(ProcedureSession, ResultsOfAListAreAsLargeAsTheyAre) {
  constexpr std::size_t kResult = 1 << 20;
  const std::size_t packet = std::stoul(sql("SELECT @@max_allowed_packet"));
  const std::size_t count = std::min<std::size_t>(packet / kResult + 2, 70);
  std::string keys;
  for (std::size_t i = 0; i < count; ++i) {
    client_.ask("START TRANSACTION");
    client_.ask(fmt::format(
        "CALL semel_claim_into('payments', 'k{}', '{{}}', NULL, @outcome, @nonce, @r, @a, @w); "
        "CALL semel_done('payments', 'k{}', @nonce, CONCAT('{}', REPEAT('x', {})))",
        i, i, 1000 + i, kResult - 4));
    client_.ask("COMMIT");
    keys += fmt::format("{}\"k{}\"", i == 0 ? "" : ", ", i);
  }
  for (const char* const first : {"", "START TRANSACTION"}) {
    if (*first != '\0') client_.ask(first);
    const auto rows =
        client_.rows(fmt::format("CALL semel_claim_many('payments', '[{}]', NULL, NULL)", keys));
    ASSERT_EQ(rows.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(rows[i].at(2), "duplicate");
      ASSERT_EQ(rows[i].at(4).size(), kResult);
      ASSERT_EQ(rows[i].at(4).substr(0, 4), std::to_string(1000 + i));
    }
  }
  client_.ask("ROLLBACK");
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureSession, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
