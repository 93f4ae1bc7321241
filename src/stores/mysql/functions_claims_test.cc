// Claims by procedures, in the transactions of clients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <semel/guard.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/mysql/test_functions.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;
using test::make_message;

class ProcedureClaims : public FunctionsTest {
 protected:
  // Two sessions claim the key, the first of them in a transaction that ends as `end` says. Returns
  // the second one's answer.
  std::string second_of_two(const std::string& end) {
    client_.ask("START TRANSACTION");
    EXPECT_EQ(claimed(client_, "raced"), "new");
    auto second = std::async(std::launch::async, [this] {
      ClientSession other(url());
      return claimed(other, "raced");
    });
    EXPECT_TRUE(test::comes_true([this] { return server().lock_waiters(database_) == 1; }));
    client_.ask(end);
    return second.get();
  }
  // "key outcome result reason" of each, in the order of their numbers; `keys` and the next
  // arguments are SQL.
  static std::string many(ClientSession& session, const std::string& keys,
                          const std::string& payloads = "NULL",
                          const std::string& prints = "NULL") {
    std::string text;
    int number = 0;
    for (const auto& row : session.rows(fmt::format("CALL semel_claim_many('payments', {}, {}, {})",
                                                    keys, payloads, prints))) {
      EXPECT_EQ(row.at(0), std::to_string(++number));
      EXPECT_EQ(row.at(3).empty(), row.at(2) != "new") << row.at(1);
      text += fmt::format("{}{} {} {} {}", text.empty() ? "" : "\n", row.at(1), row.at(2),
                          row.at(4), row.at(6));
    }
    return text;
  }
  // One where it claims the key, and zero where another has it.
  static int claimed_by(ClientSession& session, const std::string& key) {
    return called(session, fmt::format("claim('payments', '{}', NULL, NULL)", key)) == "new" ? 1
                                                                                             : 0;
  }
  int claimed_by(Store& store, const std::string& key) const {
    Claim answer(Busy{});
    const auto unit = claim_in_unit(store, make_message(consumer_, key), answer);
    const auto* const acquired = std::get_if<Acquired>(&answer);
    if (acquired == nullptr) return 0;
    const Finish done = test::completed(acquired->lease);
    EXPECT_TRUE(unit->finish({&done, 1}).has_value());
    EXPECT_TRUE(unit->commit().has_value());
    return 1;
  }
  // The nonce of a new claim, as SQL.
  std::string nonce_of(std::string_view key) const {
    return hex(sql(fmt::format("SELECT nonce FROM semel_record WHERE id = {}",
                               hex(core::encode_key(consumer_, key).view()))));
  }
};

TEST_P(ProcedureClaims, AClaimStandsAndGoesWithItsTransaction) {
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
  client_.ask("ROLLBACK");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
  EXPECT_EQ(claimed(client_, "k", "other"), "conflict");
  EXPECT_EQ(called(client_, "claim('payments', 'k', NULL, NULL)"), "duplicate")
      << "without a fingerprint every payload is the same";
  EXPECT_EQ(called(client_, "claim('payments', 'k', NULL, UNHEX(LEFT(SHA2('{}', 256), 32)))"),
            "duplicate");
}

TEST_P(ProcedureClaims, EachSideKnowsWhatTheOtherHasClaimed) {
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "by a client"), "new");
  client_.ask("SELECT nonce INTO @nonce FROM semel_record");
  client_.ask("CALL semel_done('payments', 'by a client', @nonce, 'its result')");
  client_.ask("COMMIT");
  const Claim answer = claim(*store_, make_message(consumer_, "by a client"));
  ASSERT_TRUE(std::holds_alternative<Completed>(answer));
  EXPECT_EQ(std::get<Completed>(answer).result, "its result");
  Claim in_unit(Busy{});
  const auto unit = claim_in_unit(*store_, make_message(consumer_, "by a unit"), in_unit);
  ASSERT_TRUE(std::holds_alternative<Acquired>(in_unit));
  const Finish done = test::completed(std::get<Acquired>(in_unit).lease);
  ASSERT_TRUE(unit->finish({&done, 1}).has_value());
  ASSERT_TRUE(unit->commit().has_value());
  EXPECT_EQ(claimed(client_, "by a unit"), "duplicate");
  EXPECT_EQ(claimed(client_, "by a unit", "other"), "conflict");
}

TEST_P(ProcedureClaims, AResultNeedsTheNonceOfTheClaim) {
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("SELECT nonce INTO @nonce FROM semel_record");
  client_.ask("CALL semel_done('payments', 'k', @nonce, 'first')");
  client_.ask("CALL semel_done('payments', 'k', @nonce, 'second')");
  client_.ask("ROLLBACK");
  EXPECT_EQ(client_.refused("CALL semel_done('payments', 'k', @nonce, 'r')").state, "SM271");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(client_.refused("CALL semel_done('payments', 'k', @nonce, 'of the claim that is gone')")
                .state,
            "SM271");
  EXPECT_EQ(client_.ask(fmt::format("CALL semel_done('payments', 'k', {}, 'kept')", nonce_of("k"))),
            "");
  EXPECT_EQ(client_.ask("CALL semel_claim('payments', 'k', '{}', NULL)"), "duplicate||kept||");
  EXPECT_EQ(client_.refused("CALL semel_done('payments', 'k', NULL, 'r')").state, "SM271");
  EXPECT_EQ(client_.refused("CALL semel_done('payments', 'never', @nonce, 'r')").state, "SM271");
}

TEST_P(ProcedureClaims, TheSecondOfTwoWaitsAndIsADuplicateAfterTheCommit) {
  EXPECT_EQ(second_of_two("COMMIT"), "duplicate");
}

TEST_P(ProcedureClaims, TheSecondOfTwoWaitsAndIsNewAfterTheRollback) {
  EXPECT_EQ(second_of_two("ROLLBACK"), "new");
}

TEST_P(ProcedureClaims, KeysHaveTheIdsOfTheStore) {
  const std::string texts[] = {
      "a",
      "0190163d-8694-739b-aea5-966c26f8ad91",
      "0190163D-8694-739B-AEA5-966C26F8AD91",
      "0190163d-8694-739b-aea5-966c26f8ad9g",
      "0190163d8694739baea5966c26f8ad91",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "01ARZ3NDEKTSV4RRFFQ69G5FAV",
      "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
      "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
      "01arz3ndektsv4rrffq69g5fav",
      "01ARZ3NDEKTSV4RRFFQ69G5FAI",
      "00000000000000000000000000",
      "0190163d-8694-739b-aea5-966c26f8ad91\n",
      "0190163d-8694-739b-aea5-966c26f8ad9\n",
      "blank at the end ",
      "Grüße 🙂",
      "ÄÄÄÄÄÄÄÄÄÄÄÄÄ",
      std::string(64 << 10, 'x'),
      "it's",
      "back\\slash",
  };
  for (const ConsumerNumber number : {consumer_, ConsumerNumber{kMaxConsumerNumber}}) {
    for (const std::string& one : texts) {
      const std::string id =
          client_.ask(fmt::format("CALL semel_internal_key_id({}, {}, @id); SELECT LOWER(HEX(@id))",
                                  static_cast<std::uint32_t>(number), text(one)));
      EXPECT_EQ(id, digest::hex(core::encode_key(number, one).view())) << one.substr(0, 40);
    }
  }
  // One by one as in a list.
  client_.ask(
      "CALL semel_claim_many('payments', '[\"01ARZ3NDEKTSV4RRFFQ69G5FAV\", "
      "\"0190163d-8694-739b-aea5-966c26f8ad91\", \"Grüße 🙂\", \" \", \"blank \"]', NULL, "
      "NULL)");
  for (const char* const one :
       {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "0190163d-8694-739b-aea5-966c26f8ad91", "Grüße 🙂", " ",
        "blank "}) {
    EXPECT_EQ(claimed(client_, one), "conflict") << one << ": claimed without a fingerprint";
  }
  EXPECT_EQ(claimed(client_, "blank"), "new") << "blanks are a part of a key";
}

TEST_P(ProcedureClaims, ManyAreAnsweredInTheOrderGiven) {
  EXPECT_EQ(claimed(client_, "b", "1"), "new");
  EXPECT_EQ(
      many(client_, R"('["c", "b", "a", "c", "c", "b"]')", R"('["1", "2", "1", "1", "2", "1"]')"),
      "c new  \nb conflict  \na new  \nc duplicate  \nc conflict  \nb duplicate  ");
  EXPECT_EQ(many(client_, R"('["a", "d"]')"), "a duplicate  \nd new  ");
  EXPECT_EQ(many(client_, "'[]'"), "");
  client_.ask("START TRANSACTION");
  EXPECT_EQ(many(client_, R"('["e", "f"]')"), "e new  \nf new  ");
  client_.ask(
      fmt::format("SELECT nonce INTO @nonce FROM semel_record WHERE id = {}; "
                  "CALL semel_done('payments', 'f', @nonce, x'00ff')",
                  hex(core::encode_key(consumer_, "f").view())));
  client_.ask("COMMIT");
  EXPECT_EQ(many(client_, R"('["f", "e"]')"),
            "f duplicate " + std::string("\0\xff", 2) + " \ne duplicate  ");
}

// Otherwise it would come again with its batch, and stop its neighbours for ever.
TEST_P(ProcedureClaims, AnInvalidKeyOfABatchIsAnsweredAsSuchAndItAlone) {
  const std::string print = "', UPPER(LEFT(SHA2('1', 256), 32)), '";
  const auto batch = [&] {
    return many(client_,
                "CONCAT('[\"a\", null, \"\", \"', REPEAT('x', 65537), '\", \"short\", \"both\", "
                "\"printed\", \"a\", \"no hex\", \"null\"]')",
                R"('["1", "1", "1", "1", null, "1", null, "1", null, "1"]')",
                fmt::format("CONCAT('[null, null, null, null, \"31\", \"{0}\", \"{0}\", null, "
                            "\"zz\", null]')",
                            print));
  };
  const auto answers = [](const char* first, const char* printed) {
    return fmt::format(
        "a {0}  \n invalid  an empty key identifies nothing\n"
        " invalid  an empty key identifies nothing\n"
        "{2} invalid  the key has 65537 bytes, the limit is 65536\n"
        "short invalid  the fingerprint has 1 bytes\n"
        "both invalid  a payload and a fingerprint were given\nprinted {1}  \na duplicate  \n"
        "no hex invalid  the fingerprint has 0 bytes\nnull {0}  ",
        first, printed, std::string(65537, 'x'));
  };
  EXPECT_EQ(batch(), answers("new", "new"));
  EXPECT_EQ(batch(), answers("duplicate", "duplicate"));
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "3");
}

TEST_P(ProcedureClaims, AKeyThatIsHeldForTooLongIsBusyAndItAlone) {
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "held"), "new");
  ClientSession other(url());
  other.ask("SET innodb_lock_wait_timeout = 1");
  other.ask("START TRANSACTION");
  EXPECT_EQ(other.ask("CALL semel_claim('payments', 'held', NULL, NULL)"), "busy|||5.000000|");
  EXPECT_EQ(many(other, R"('["x", "held", "y", "x"]')"),
            "x new  \nheld busy  \ny new  \nx duplicate  ");
  other.ask("COMMIT");
  EXPECT_EQ(other.ask("SELECT @@innodb_lock_wait_timeout"), "1");
  client_.ask("ROLLBACK");
  EXPECT_EQ(claimed(other, "held"), "new");
  EXPECT_EQ(claimed(other, "y", "p"), "conflict") << "it was claimed without a fingerprint";
}

// The call must not undo the caller's earlier work.
TEST_P(ProcedureClaims, AFailedCallUndoesItselfAlone) {
  client_.ask("CREATE TABLE account (balance INT)");
  client_.ask("START TRANSACTION");
  client_.ask("INSERT INTO account VALUES (5)");
  EXPECT_EQ(claimed(client_, "before"), "new");
  EXPECT_EQ(client_.refused("CALL semel_claim('payments', '', NULL, NULL)").state, "SM271");
  EXPECT_EQ(client_.refused("CALL semel_claim('nobody', 'k', NULL, NULL)").state, "SM272");
  client_.ask("COMMIT");
  EXPECT_EQ(sql("SELECT balance FROM account"), "5");
  EXPECT_EQ(claimed(client_, "before"), "duplicate");
}

TEST_P(ProcedureClaims, ASessionWithoutAutocommitHasItsTransaction) {
  client_.ask("SET autocommit = 0");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("ROLLBACK");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("COMMIT");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "1");
}

TEST_P(ProcedureClaims, EveryIsolationLevelWillDo) {
  for (const std::string& setting : snapshot_settings()) {
    client_.ask(setting);
    for (const char* const level :
         {"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
      client_.ask(fmt::format("SET SESSION TRANSACTION ISOLATION LEVEL {}", level));
      client_.ask("START TRANSACTION");
      client_.ask("SELECT by_ms FROM moved");
      const std::string key = level + setting;
      ClientSession other(url());
      EXPECT_EQ(claimed(other, key), "new");
      const auto answer =
          client_.run(fmt::format("CALL semel_claim('payments', '{}', '{{}}', NULL)", key));
      const bool reads_newest = std::string_view(level).starts_with("READ ");
      EXPECT_EQ(answer.refusal.code, setting.ends_with("ON") && !reads_newest ? kRowChanged : 0U)
          << setting << level;
      if (answer.refusal.code == kRowChanged) {
        EXPECT_EQ(client_.ask("SELECT @@in_transaction"), "0") << "it is undone";
        client_.ask("START TRANSACTION");
      }
      EXPECT_EQ(claimed(client_, key), "duplicate") << "newer than what the transaction sees";
      EXPECT_EQ(many(client_, fmt::format("'[\"{}\", \"of many {}\"]'", key, key)),
                fmt::format("{0} duplicate  \nof many {0} new  ", key));
      client_.ask("COMMIT");
    }
  }
}

// The first claim after its ttl was changed, or of a new consumer.
TEST_P(ProcedureClaims, AGenerationIsBegunWhereThereIsNone) {
  sql("DELETE FROM semel_generation");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(sql("SELECT number, ttl, state FROM semel_generation"),
            fmt::format("1|{}|active", kTtl.count()));
  EXPECT_EQ(claimed(client_, "j"), "new");
  EXPECT_EQ(sql("SELECT COUNT(*), MAX(generation) FROM semel_record"), "2|1");
}

TEST_P(ProcedureClaims, WhatIsPastItsTtlIsForgotten) {
  EXPECT_EQ(claimed(client_, "old"), "new");
  advance(kTtl + 1min);
  EXPECT_EQ(claimed(client_, "young"), "new");
  ASSERT_TRUE(store_->purge(10s).has_value());
  EXPECT_EQ(claimed(client_, "young"), "duplicate");
  EXPECT_EQ(claimed(client_, "old"), "new");
}

// In a session that is not strict, a server cuts a text that it cannot decode, or replaces parts by
// ?: two keys would become one.
TEST_P(ProcedureClaims, AKeyThatIsNotUtf8IsRefusedInEverySession) {
  ClientSession latin(url(), "latin1");
  const std::string in_latin = "'Gr\xFC\xDF\x65'";
  for (const char* const mode : {"", "STRICT_ALL_TABLES"}) {
    client_.ask(fmt::format("SET sql_mode = '{}'", mode));
    latin.ask(fmt::format("SET sql_mode = '{}'", mode));
    for (const char* const key : {"x'41FFFE'", "x'C3'", "x'C0AF'"}) {
      for (const char* const call :
           {"claim('payments', {}, NULL, NULL)", "begin('payments', {}, NULL, NULL, NULL, NULL)",
            "publish('payments', 'm', {}, NULL, NULL, NULL, NULL)",
            "claim_many('payments', CONCAT('[\"', {}, '\"]'), NULL, NULL)",
            "publish('payments', 'm', NULL, CONCAT('{{\"', {}, '\": \"\"}}'), NULL, NULL, NULL)"}) {
        const auto refusal = client_.refused("CALL semel_" + fmt::format(fmt::runtime(call), key));
        EXPECT_EQ(refusal.state, "SM271") << call << key << refusal.message;
      }
    }
    EXPECT_EQ(
        latin.refused(fmt::format("CALL semel_claim('payments', {}, NULL, NULL)", in_latin)).state,
        "SM271");
    EXPECT_EQ(client_.refused("CALL semel_claim(x'7061796D656E7473FF', 'k', NULL, NULL)").state,
              "SM272");
  }
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0");
  EXPECT_EQ(latin
                .ask(fmt::format("CALL semel_claim('payments', CONVERT({} USING utf8mb4), NULL, "
                                 "NULL)",
                                 in_latin))
                .substr(0, 3),
            "new");
  EXPECT_EQ(client_.ask("CALL semel_claim('payments', 'Grüße', NULL, NULL)"), "duplicate||||");
}

TEST_P(ProcedureClaims, ABackslashIsABackslashWhateverTheSessionIsSetTo) {
  const char* const claim = R"(CALL semel_claim('payments', '0\\1', 'a\\b', NULL))";
  EXPECT_EQ(client_.ask(claim).substr(0, 3), "new");
  EXPECT_EQ(claimed(client_, R"(0\1)", R"(a\b)"), "duplicate");
  EXPECT_EQ(many(client_, R"('["0\\\\1"]')", R"('["a\\\\b"]')"), "0\\1 duplicate  ");
}

TEST_P(ProcedureClaims, BadInputIsRefusedWithOurCode) {
  const std::pair<const char*, const char*> calls[] = {
      {"claim('payments', '', NULL, NULL)", "SM271"},
      {"claim('payments', NULL, NULL, NULL)", "SM271"},
      {"claim('payments', REPEAT('x', 65537), NULL, NULL)", "SM271"},
      {"claim('payments', 'k', 'body', REPEAT('p', 16))", "SM271"},
      {"claim('payments', 'k', NULL, 'short')", "SM271"},
      {"claim('nobody', 'k', NULL, NULL)", "SM272"},
      {"claim('PAYMENTS', 'k', NULL, NULL)", "SM272"},
      {"claim('payments ', 'k', NULL, NULL)", "SM272"},
      {"claim(NULL, 'k', NULL, NULL)", "SM272"},
      {"claim(REPEAT('n', 5000), 'k', NULL, NULL)", "SM272"},
      {"claim_many('payments', NULL, NULL, NULL)", "SM271"},
      {"claim_many('payments', 'no JSON', NULL, NULL)", "SM271"},
      {"claim_many('payments', '{}', NULL, NULL)", "SM271"},
      {"claim_many('payments', '[\"a\", \"b\"]', '[\"1\"]', NULL)", "SM271"},
      {"claim_many('payments', '[\"a\"]', NULL, '[]')", "SM271"},
      {"claim_many('nobody', '[\"a\"]', NULL, NULL)", "SM272"},
      {"done('payments', 'k', REPEAT('n', 16), REPEAT('x', 1048577))", "SM271"},
      {"done('payments', '', REPEAT('n', 16), 'r')", "SM271"},
      {"done('nobody', 'k', REPEAT('n', 16), 'r')", "SM272"},
  };
  for (const auto& [call, state] : calls) {
    const auto refusal = client_.refused(fmt::format("CALL semel_{}", call));
    EXPECT_EQ(refusal.state, state) << call << refusal.message;
    const std::string code = "R" + std::string(state).substr(2);
    EXPECT_NE(refusal.message.find(code), std::string::npos) << call << refusal.message;
  }
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0");
}

// As when the client's process dies: its server rolls back open work.
TEST_P(ProcedureClaims, AClientThatDiesBetweenClaimAndCommitLeavesNothing) {
  {
    ClientSession dying(url());
    dying.ask("START TRANSACTION");
    EXPECT_EQ(claimed(dying, "k"), "new");
    const std::string session = dying.ask("SELECT CONNECTION_ID()");
    sql("KILL " + session);
  }
  EXPECT_EQ(claimed(client_, "k"), "new");
}

// Clients with lists and with single calls, and units of the store: each key is new to one of them.
TEST_P(ProcedureClaims, AmongManyRacersEachKeyIsNewOnce) {
  constexpr int kRacers = 4;
  constexpr std::size_t kRacedKeys = 30;
  std::atomic<int> news{0};
  std::vector<std::jthread> racers;
  for (int racer = 0; racer < kRacers; ++racer) {
    racers.emplace_back([&, racer] {
      ClientSession session(url());
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < kRacedKeys; ++i) {
        keys.push_back(
            fmt::format("raced {}", (i * 7 + static_cast<std::size_t>(racer) * 11) % kRacedKeys));
      }
      if (racer == 0) {
        for (const auto& row :
             session.rows(fmt::format("CALL semel_claim_many('payments', '[\"{}\"]', NULL, NULL)",
                                      fmt::join(keys, "\", \"")))) {
          news += row.at(2) == "new" ? 1 : 0;
        }
        return;
      }
      for (const std::string& key : keys) {
        news += racer < 3 ? claimed_by(session, key) : claimed_by(*store_, key);
      }
    });
  }
  racers.clear();
  EXPECT_EQ(news, static_cast<int>(kRacedKeys));
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureClaims, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
