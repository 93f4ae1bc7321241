// Claims with a lease by procedures: for effects outside of a transaction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/admin/records.h>

#include <thread>

#include "base/digest.h"
#include "stores/mysql/test_functions.h"
#include "tests/support/finish_one.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;
using test::make_message;

class ProcedureLeases : public FunctionsTest {
 protected:
  // Ends the key `k` under a nonce.
  std::string ended(const char* function, const Nonce& nonce, const std::string& more) {
    return called(client_, fmt::format("{}('payments', 'k', {}, {})", function, hex(nonce), more));
  }
  std::string released(const Nonce& nonce) {
    return called(client_, fmt::format("release('payments', 'k', {})", hex(nonce)));
  }
  std::string state() const {
    return sql("SELECT state, attempt, reason, error FROM semel_records_open");
  }
  static Applied finish(Store& store, const Finish& finish) {
    return test::finish_one(store, finish);
  }
  static constexpr std::pair<const char*, const char*> kEndings[] = {
      {"renew", "60"}, {"complete", "'r'"}, {"retry", "0, NULL, NULL"}, {"dead", "NULL, NULL"}};
};

TEST_P(ProcedureLeases, WorkIsBegunOnceAndCompleted) {
  const Begun first = begun(client_, "k");
  ASSERT_EQ(first.outcome, "new");
  EXPECT_EQ(first.rest, "1|0");
  EXPECT_EQ(client_.ask("CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)"),
            "busy||||||5.000000|");
  EXPECT_EQ(begun(client_, "k", "3600", "other").outcome, "conflict");
  EXPECT_EQ(ended("renew", first.lease.nonce, "NULL"), "renewed");
  EXPECT_EQ(ended("complete", first.lease.nonce, "'its answer'"), "done");
  EXPECT_EQ(client_.ask("CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)"),
            "duplicate|||||its answer||");
  EXPECT_EQ(ended("complete", first.lease.nonce, "NULL"), "lease_lost") << "it is ended";
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_open"), "0");
  EXPECT_TRUE(store_->facets().records->verify(true)->empty());
}

TEST_P(ProcedureLeases, ALateHolderChangesNothing) {
  const Begun late = begun(client_, "k", "60");
  ASSERT_EQ(late.outcome, "new");
  advance(2min);
  const Begun next = begun(client_, "k");
  ASSERT_EQ(next.outcome, "new");
  EXPECT_EQ(next.rest, "2|1") << "taken over";
  EXPECT_GT(next.lease.token, late.lease.token);
  for (const auto& [function, more] : kEndings) {
    EXPECT_EQ(ended(function, late.lease.nonce, more), "lease_lost") << function;
  }
  EXPECT_EQ(released(late.lease.nonce), "lease_lost");
  EXPECT_EQ(state(), "consuming|2||");
  EXPECT_EQ(ended("complete", next.lease.nonce, "NULL"), "done");
}

TEST_P(ProcedureLeases, ARenewedLeaseIsNotTakenOver) {
  const Begun holder = begun(client_, "k", "180");
  advance(2min);
  EXPECT_EQ(ended("renew", holder.lease.nonce, "180"), "renewed");
  advance(2min);
  EXPECT_EQ(begun(client_, "k").outcome, "busy");
  advance(2min);
  EXPECT_EQ(ended("renew", holder.lease.nonce, "NULL"), "renewed") << "nobody took it meanwhile";
}

TEST_P(ProcedureLeases, WhatIsGivenBackWasNotBegun) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(released(first.lease.nonce), "released");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0") << "as if it had not been claimed";
  EXPECT_EQ(released(first.lease.nonce), "lease_lost") << "it is given back";
  const Begun failed = begun(client_, "k");
  EXPECT_EQ(failed.rest, "1|0");
  EXPECT_EQ(ended("retry", failed.lease.nonce, "0, NULL, 'no answer'"), "retry");
  const Begun second = begun(client_, "k");
  ASSERT_EQ(second.outcome, "new");
  EXPECT_EQ(second.rest, "2|0");
  EXPECT_EQ(released(second.lease.nonce), "released");
  EXPECT_EQ(state(), "retrying|1|handler.native|no answer") << "what an earlier try left stands";
  EXPECT_EQ(begun(client_, "k").rest, "2|0") << "at once, and the attempt was not counted";
}

TEST_P(ProcedureLeases, ARetryWaitsUntilItIsDue) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("retry", first.lease.nonce, "3600, NULL, 'no answer'"), "retry");
  EXPECT_EQ(state(), "retrying|1|handler.native|no answer");
  const auto answer = client_.rows("CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)");
  EXPECT_EQ(answer.at(0).at(0), "retry");
  const double after = std::stod(answer.at(0).at(6));
  EXPECT_GT(after, 3500);
  EXPECT_LE(after, 3600);
  EXPECT_EQ(claimed(client_, "k"), "retry");
  advance(2h);
  const Begun second = begun(client_, "k");
  ASSERT_EQ(second.outcome, "new");
  EXPECT_EQ(second.rest, "2|0");
  EXPECT_EQ(ended("retry", second.lease.nonce, "9e18, 'why', NULL"), "retry") << "the far future";
  EXPECT_EQ(claimed(client_, "k"), "retry");
}

TEST_P(ProcedureLeases, NoTimeIsLaterThanEveryDatabaseCanHave) {
  constexpr const char* kLatest = "9999-12-29 23:59:59.999000";
  for (const char* const length : {"300e9", "9e18"}) {
    const Begun for_long = begun(client_, "k", length);
    ASSERT_EQ(for_long.outcome, "new") << length;
    EXPECT_EQ(sql("SELECT lease_until FROM semel_record"), kLatest) << length;
    EXPECT_EQ(ended("renew", for_long.lease.nonce, length), "renewed");
    EXPECT_EQ(sql("SELECT lease_until FROM semel_record"), kLatest) << length;
    EXPECT_EQ(ended("retry", for_long.lease.nonce, fmt::format("{}, NULL, NULL", length)), "retry");
    EXPECT_EQ(sql("SELECT next_at FROM semel_record"), kLatest) << length;
    sql("DELETE FROM semel_record");
  }
}

// A session that is not strict takes a number from the beginning of a text.
TEST_P(ProcedureLeases, ALengthThatIsNoNumberIsRefusedInEverySession) {
  const Begun held = begun(client_, "held");
  for (const char* const mode : {"", "STRICT_ALL_TABLES"}) {
    client_.ask(fmt::format("SET sql_mode = '{}'", mode));
    for (const char* const length :
         {"'2 minutes'", "'1 hour'", "''", "'60 '", "' 60'", "'60\n'", "'1:30'", "'1,5'", "'.'",
          "'-'", "'1e'", "'0x10'", "'six'", "'NULL'", "x'00'"}) {
      for (const std::string& call :
           {fmt::format("begin('payments', 'k', '{{}}', NULL, {}, NULL)", length),
            fmt::format("renew('payments', 'held', {}, {})", hex(held.lease.nonce), length),
            fmt::format("retry('payments', 'held', {}, {}, NULL, NULL)", hex(held.lease.nonce),
                        length),
            fmt::format("publish('payments', 'm', NULL, NULL, NULL, NULL, {})", length)}) {
        const auto refusal = client_.refused("CALL semel_" + call);
        EXPECT_EQ(refusal.state, "SM271") << mode << call << refusal.message;
      }
    }
  }
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "1");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_held"), "0");
  EXPECT_EQ(
      called(client_, fmt::format("complete('payments', 'held', {}, NULL)", hex(held.lease.nonce))),
      "done");
}

TEST_P(ProcedureLeases, ALengthIsANumberOrItsText) {
  constexpr const char* kMost = "100000000000000000000000.000000";
  const std::pair<const char*, const char*> lengths[] = {
      {"60", "60.000000"},
      {"'60'", "60.000000"},
      {"0.5", "0.500000"},
      {"'.5'", "0.500000"},
      {"1e2", "100.000000"},
      {"'1E+2'", "100.000000"},
      {"5e-1", "0.500000"},
      {"'7.'", "7.000000"},
      {"-1", "-1.000000"},
      {"1.2345678", "1.234568"},
      {"@length", "90.250000"},
      {"60.00000000000000000000000000000", "60.000000"},
      {"TRUE", "1.000000"},
      {"1e40", kMost},
      {"'1e999'", kMost},
      {"'-1e999'", "-100000000000000000000000.000000"},
      {"1e-300", "0.000000"},
      {"'1e-999'", "0.000000"},
      {"NULL", ""}};
  for (const char* const mode : {"", "STRICT_ALL_TABLES"}) {
    client_.ask(fmt::format("SET sql_mode = '{}', @length = 90.25", mode));
    for (const auto& [length, seconds] : lengths) {
      EXPECT_EQ(client_.ask(fmt::format(
                    "CALL semel_internal_seconds({}, @seconds); SELECT @seconds", length)),
                seconds)
          << mode << length;
    }
  }
}

// As after a commit whose answer was lost.
TEST_P(ProcedureLeases, AClaimUnderTheCallersNonceMayBeAskedForAgain) {
  const auto asked = [this](char nonce, const char* payload = "{}") {
    return client_.ask(fmt::format("CALL semel_begin('payments', 'k', '{}', NULL, 60, '{}')",
                                   payload, std::string(sizeof(Nonce{}.bytes), nonce)));
  };
  const std::string first = asked('a');
  EXPECT_EQ(first.substr(0, 21), "new|aaaaaaaaaaaaaaaa|");
  EXPECT_EQ(asked('a'), first);
  EXPECT_EQ(asked('a', "other").substr(0, 9), "conflict|") << "not the same call";
  advance(40s);
  EXPECT_EQ(asked('a'), first);
  advance(40s);
  EXPECT_EQ(asked('b').substr(0, 5), "busy|") << "the lease is as long as it was asked for again";
  advance(2min);
  EXPECT_EQ(asked('b').substr(0, 21), "new|bbbbbbbbbbbbbbbb|");
  EXPECT_EQ(asked('a').substr(0, 5), "busy|") << "it was taken over";
  EXPECT_EQ(called(client_, "complete('payments', 'k', 'bbbbbbbbbbbbbbbb', NULL)"), "done");
  EXPECT_EQ(asked('b').substr(0, 10), "duplicate|");
}

TEST_P(ProcedureLeases, ADeadKeyStaysDead) {
  const Begun first = begun(client_, "k");
  for (const char* const name : {"", "charge"}) {
    sql(fmt::format(
        "INSERT INTO semel_step (record, name, business, state, place, round, attempts, "
        "tries, kept_at) VALUES ({}, '{}', '', '', 1, 1, 1, 1, NOW(6))",
        hex(first.lease.key.view()), name));
  }
  EXPECT_EQ(ended("dead", first.lease.nonce, "'payload.invalid', 'no amount'"), "dead");
  EXPECT_EQ(sql("SELECT name FROM semel_step"), "charge") << "it is no longer being undone";
  EXPECT_EQ(client_.ask("CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)"),
            "dead|||||||payload.invalid");
  EXPECT_EQ(client_.ask("CALL semel_claim('payments', 'k', '{}', NULL)"),
            "dead||||payload.invalid");
  const Claim closed = claim(*store_, make_message(consumer_, "k"));
  ASSERT_TRUE(std::holds_alternative<Closed>(closed));
  EXPECT_EQ(std::get<Closed>(closed).reason, "payload.invalid");
}

TEST_P(ProcedureLeases, AReasonThatIsNoTextIsAnsweredToo) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("dead", first.lease.nonce, "NULL, NULL"), "dead");
  sql("UPDATE semel_record SET reason = x'ff41'");
  const auto answer = client_.rows("CALL semel_claim('payments', 'k', '{}', NULL)");
  EXPECT_EQ(answer.at(0).at(0), "dead");
  EXPECT_FALSE(answer.at(0).at(4).empty());
}

TEST_P(ProcedureLeases, ADueRetryIsTakenByAClaimOfATransactionToo) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("retry", first.lease.nonce, "0, NULL, NULL"), "retry");
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("ROLLBACK");
  EXPECT_EQ(state(), "retrying|1|handler.native|") << "what an earlier try left stands again";
  const auto rows =
      client_.rows(R"(CALL semel_claim_many('payments', '["k", "k"]', '["{}", "{}"]', NULL))");
  EXPECT_EQ(rows.at(0).at(2) + rows.at(1).at(2), "newduplicate");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_open"), "0");
}

TEST_P(ProcedureLeases, TheStoreEndsWhatAClientBeganAndTheOtherWayRound) {
  const Begun by_client = begun(client_, "of a client");
  EXPECT_TRUE(std::holds_alternative<Busy>(claim(*store_, make_message(consumer_, "of a client"))));
  EXPECT_EQ(finish(*store_, test::completed(by_client.lease, "by the store")), Applied::kYes);
  EXPECT_EQ(claimed(client_, "of a client"), "duplicate");
  const Claim stores = claim(*store_, make_message(consumer_, "k"));
  ASSERT_TRUE(std::holds_alternative<Acquired>(stores));
  const Lease lease = std::get<Acquired>(stores).lease;
  EXPECT_GT(lease.token, by_client.lease.token) << "one series of tokens";
  EXPECT_EQ(begun(client_, "k").outcome, "busy");
  EXPECT_EQ(ended("complete", lease.nonce, "'by a client'"), "done");
  const Claim known = claim(*store_, make_message(consumer_, "k"));
  ASSERT_TRUE(std::holds_alternative<Completed>(known));
  EXPECT_EQ(std::get<Completed>(known).result, "by a client");
}

// Only the runner that reads the payload knows when it is handled.
TEST_P(ProcedureLeases, AMessageThatTheStoreKeepsComesBackToItsRun) {
  const Message message = make_message(consumer_, "k");
  const Claim acquired = claim(*store_, message);
  ASSERT_EQ(finish(*store_, test::retrying(std::get<Acquired>(acquired).lease, 0ms, &message)),
            Applied::kYes);
  EXPECT_EQ(begun(client_, "k").outcome, "retry");
  EXPECT_EQ(claimed(client_, "k"), "retry");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_held"), "1");
}

// With autocommit the server would commit each statement of a procedure by itself. Another session
// has locked what the second statement needs.
TEST_P(ProcedureLeases, ACallThatDiesInItsMiddleLeavesNothingOfIt) {
  ClientSession other(url());
  sql("INSERT INTO semel_open (id) VALUES (x'00')");
  other.ask("START TRANSACTION");
  other.ask("LOCK TABLES semel_open WRITE");
  ClientSession dying(url());
  const std::string session = dying.ask("SELECT CONNECTION_ID()");
  std::thread call([&] {
    EXPECT_NE(dying.refused("CALL semel_begin('payments', 'k', '{}', NULL, NULL, NULL)").code, 0U);
  });
  EXPECT_TRUE(test::comes_true([&] {
    return sql(fmt::format("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {} AND "
                           "state LIKE '%metadata lock%'",
                           session)) == "1";
  }));
  sql("KILL " + session);
  call.join();
  other.ask("UNLOCK TABLES");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0");
  EXPECT_EQ(begun(client_, "k").outcome, "new");
}

TEST_P(ProcedureLeases, TheCallersLastNumberStays) {
  client_.ask("CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY)");
  client_.ask("INSERT INTO orders VALUES (41), (NULL)");
  const std::string number = client_.ask("SELECT LAST_INSERT_ID()");
  begun(client_, "k");
  client_.ask("CALL semel_publish('payments', 'm', NULL, NULL, NULL, NULL, NULL)");
  EXPECT_EQ(client_.ask("SELECT LAST_INSERT_ID()"), number);
}

TEST_P(ProcedureLeases, BadInputIsRefusedWithOurCode) {
  for (const char* const call :
       {"begin('payments', '', NULL, NULL, NULL, NULL)",
        "begin('payments', 'k', 'p', NULL, 0, NULL)", "begin('payments', 'k', 'p', NULL, -1, NULL)",
        "begin('payments', 'k', 'p', 'q', 1, NULL)", "renew('payments', 'k', 'short', 1)",
        "renew('payments', 'k', NULL, 1)", "renew('payments', 'k', REPEAT('n', 16), 0)",
        "complete('payments', '', REPEAT('n', 16), NULL)",
        "complete('payments', 'k', REPEAT('n', 16), REPEAT('x', 1048577))",
        "begin('payments', 'k', NULL, NULL, NULL, 'short')",
        "begin('payments', 'k', NULL, NULL, NULL, x'00000000000000000000000000000000')",
        "retry('payments', 'k', 'short', 0, NULL, NULL)",
        "dead('payments', NULL, NULL, NULL, NULL)", "release('payments', 'k', 'short')",
        "release('payments', '', REPEAT('n', 16))"}) {
    const auto refusal = client_.refused(fmt::format("CALL semel_{}", call));
    EXPECT_EQ(refusal.state, "SM271") << call << refusal.message;
  }
  EXPECT_EQ(client_.refused("CALL semel_begin('nobody', 'k', NULL, NULL, NULL, NULL)").state,
            "SM272");
  EXPECT_EQ(client_.refused("CALL semel_renew('nobody', 'k', REPEAT('n', 16), 1)").state, "SM272");
  EXPECT_EQ(ended("complete", Nonce{}, "NULL"), "lease_lost") << "there is no record";
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0");
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureLeases, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
