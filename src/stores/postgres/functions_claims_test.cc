// Claims by SQL functions, in the transactions of clients.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <future>
#include <map>
#include <tuple>

#include <semel/guard.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/postgres/test_functions.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::make_message;

class FunctionsClaims : public FunctionsTest {
 protected:
  // Two sessions claim the key, the first of them in a transaction that ends as `end` says. Returns
  // the second one's answer.
  std::string second_of_two(const std::string& end) {
    client_.ask("BEGIN");
    EXPECT_EQ(claimed(client_, "raced"), "new");
    auto second = std::async(std::launch::async, [this] {
      ClientSession other(url());
      return claimed(other, "raced");
    });
    EXPECT_TRUE(test::comes_true([this] { return server_.lock_waiters(database_) == 1; }));
    client_.ask(end);
    return second.get();
  }
  std::string many(const std::string& arguments) {
    return client_.ask(
        "SELECT ordinality, key, outcome, convert_from(result, 'UTF8') FROM "
        "semel.claim_many('payments', " +
        arguments + ")");
  }
};

TEST_F(FunctionsClaims, KeysHaveTheIdsOfTheStore) {
  const std::string texts[] = {
      "a",
      "0190163d-8694-739b-aea5-966c26f8ad91",
      "0190163D-8694-739B-AEA5-966C26F8AD91",
      "0190163d-8694-739b-aea5-966c26f8ad9g",
      "0190163d8694739baea5966c26f8ad91",
      "0190163d-8694-739b-aea5-966c26f8-d91",
      "0190163d-8694-739b-aea5--66c26f8ad91",
      "0190163d86940-739b-aea5-966c26f8ad91",
      "------------------------------------",
      "0190163d-8694-739b-aea5-966c26f8ad\xC3\xA4",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "01ARZ3NDEKTSV4RRFFQ69G5FAV",
      "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
      "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
      "01arz3ndektsv4rrffq69g5fav",
      "01ARZ3NDEKTSV4RRFFQ69G5FAI",
      "00000000000000000000000000",
      "0190163d-8694-739b-aea5-966c26f8ad91\n",
      "blank at the end ",
      "Grüße 🙂",
      "ÄÄÄÄÄÄÄÄÄÄÄÄÄ",
      std::string(64 << 10, 'x'),
      "it's",
      "back\\slash",
  };
  for (const ConsumerNumber number : {consumer_, ConsumerNumber{kMaxConsumerNumber}}) {
    for (const std::string& text : texts) {
      const std::string id = client_.ask(
          fmt::format("SELECT encode(semel.semel_key_id({}, convert_from({}, 'UTF8')), 'hex')",
                      static_cast<std::uint32_t>(number), bytes(text)));
      EXPECT_EQ(id, digest::hex(core::encode_key(number, text).view())) << text.substr(0, 40);
    }
  }
  EXPECT_EQ(client_.ask("SELECT encode(semel.fingerprint('body'), 'hex')"),
            digest::hex(fingerprint_of("body").view()));
}

// A column of the caller's may take texts for one that are two, or parts of them for nothing.
TEST_F(FunctionsClaims, AKeyIsItsBytesWhateverTheCallersCollation) {
  client_.ask(
      "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)");
  const auto call = [](const char* form, std::string_view consumer, std::string_view key) {
    return fmt::format(fmt::runtime(form), fmt::format("'{}' COLLATE loose", consumer),
                       fmt::format("'{}' COLLATE loose", key));
  };
  ASSERT_EQ(client_.ask("SELECT 'abc' = 'ABC' COLLATE loose, '\u00AD' = '' COLLATE loose"), "t|t");
  for (const char* const key : {"abc", "ABC", "\u00AD", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                                "0190163d-8694-739b-aea5-966c26f8ad91"}) {
    EXPECT_EQ(client_.ask(call("SELECT outcome FROM semel.claim({}, {}, '{{}}')", "payments", key)),
              "new")
        << key;
    EXPECT_EQ(claimed(client_, key), "duplicate") << key;
    EXPECT_EQ(client_.ask(call("SELECT outcome FROM semel.claim_many({0}, ARRAY[{1}, {1}])",
                               "payments", key)),
              "duplicate\nduplicate")
        << key;
    EXPECT_EQ(client_.ask(call("SELECT outcome FROM semel.begin({}, {})", "payments", key)),
              "duplicate");
    EXPECT_EQ(
        client_.refused(call("SELECT semel.publish({}, 'm'::text, {})", "payments", key)).state,
        "");
  }
  for (const char* const form :
       {"claim({}, {})", "claim_many({}, ARRAY[{}])", "begin({}, {})", "done({}, {}, 'r'::text)",
        "dead({}, {}, 'nnnnnnnnnnnnnnnn')", "publish({}, {})"}) {
    const std::string statement = fmt::format("SELECT semel.{}", form);
    const auto refusal = client_.refused(call(statement.c_str(), "PAYMENTS", "k"));
    EXPECT_EQ(refusal.state, "SM272") << form << refusal.message;
  }
}

// A literal without a type is a text for both.
TEST_F(FunctionsClaims, AFingerprintIsThatOfTheSamePayload) {
  for (const char* const payload : {R"({"text":"two\\nlines"})", R"(\x7b7d)", "Grüße"}) {
    EXPECT_EQ(client_.ask(fmt::format("SELECT encode(semel.fingerprint('{}'), 'hex')", payload)),
              digest::hex(fingerprint_of(payload).view()));
    EXPECT_EQ(client_.ask(fmt::format("SELECT outcome FROM semel.claim('payments', '{0}', '{0}')",
                                      payload)),
              "new");
    EXPECT_EQ(client_.ask(fmt::format("SELECT outcome FROM semel.claim('payments', '{0}', "
                                      "fingerprint => semel.fingerprint('{0}'))",
                                      payload)),
              "duplicate");
  }
  EXPECT_EQ(client_.ask("SELECT semel.fingerprint(NULL::text) IS NULL"), "t");
}

TEST_F(FunctionsClaims, AClaimStandsAndGoesWithItsTransaction) {
  client_.ask("BEGIN");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
  client_.ask("ROLLBACK");
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
  EXPECT_EQ(claimed(client_, "k", "other"), "conflict");
  EXPECT_EQ(client_.ask("SELECT outcome FROM semel.claim('payments', 'k')"), "duplicate")
      << "without a fingerprint every payload is the same";
  EXPECT_EQ(client_.ask("SELECT outcome FROM semel.claim('payments', 'k', fingerprint => "
                        "semel.fingerprint('{}'))"),
            "duplicate");
  EXPECT_EQ(client_.ask("SHOW lock_timeout"), "0") << "the client's own settings stay";
}

TEST_F(FunctionsClaims, EachSideKnowsWhatTheOtherHasClaimed) {
  client_.ask("BEGIN");
  EXPECT_EQ(claimed(client_, "by a client"), "new");
  client_.ask("SELECT semel.done('payments', 'by a client', 'its result')");
  client_.ask("COMMIT");
  const Message message = make_message(consumer_, "by a client");
  const Message* const one = &message;
  const auto claims = store_->claim({&one, 1}, {kLease, {}, true}).value();
  ASSERT_TRUE(is<Completed>(claims.front()));
  EXPECT_EQ(std::get<Completed>(claims.front()).result, "its result");
  claim_in_unit(*store_, make_message(consumer_, "by a unit")).complete();
  EXPECT_EQ(claimed(client_, "by a unit"), "duplicate");
  EXPECT_EQ(claimed(client_, "by a unit", "other"), "conflict");
}

TEST_F(FunctionsClaims, AResultBelongsToAClaimOfTheTransaction) {
  client_.ask("BEGIN");
  client_.ask("SAVEPOINT a");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("RELEASE a");
  client_.ask("SELECT semel.done('payments', 'k', 'first')");
  client_.ask("SELECT semel.done('payments', 'k', 'second')");
  client_.ask("COMMIT");
  EXPECT_EQ(client_.ask("SELECT convert_from(result, 'UTF8') FROM semel.claim('payments', 'k')"),
            "second");
  const auto late = client_.refused("SELECT semel.done('payments', 'k', 'third')");
  EXPECT_EQ(late.state, "SM271") << late.message;
  EXPECT_EQ(client_.refused("SELECT semel.done('payments', 'never', 'r')").state, "SM271");
}

TEST_F(FunctionsClaims, ManyAreAnsweredInTheOrderGiven) {
  EXPECT_EQ(claimed(client_, "b", "1"), "new");
  EXPECT_EQ(many("ARRAY['c', 'b', 'a', 'c', 'c', 'b'], "
                 "ARRAY['1', '2', '1', '1', '2', '1']::bytea[]"),
            "1|c|new|\n2|b|conflict|\n3|a|new|\n4|c|duplicate|\n5|c|conflict|\n6|b|duplicate|");
  EXPECT_EQ(many("ARRAY['a', 'd']"), "1|a|duplicate|\n2|d|new|");
  EXPECT_EQ(many("'{}'"), "");
  client_.ask("BEGIN");
  client_.ask("SELECT semel.claim_many('payments', ARRAY['e', 'f'])");
  client_.ask("SELECT semel.done('payments', 'f', 'of f')");
  client_.ask("COMMIT");
  EXPECT_EQ(many("ARRAY['f', 'e']"), "1|f|duplicate|of f\n2|e|duplicate|");
}

TEST_F(FunctionsClaims, TheSecondOfTwoWaitsAndIsADuplicateAfterTheCommit) {
  EXPECT_EQ(second_of_two("COMMIT"), "duplicate");
}

TEST_F(FunctionsClaims, TheSecondOfTwoWaitsAndIsNewAfterTheRollback) {
  EXPECT_EQ(second_of_two("ROLLBACK"), "new");
}

TEST_F(FunctionsClaims, AKeyThatIsHeldForTooLongIsBusyAndItAlone) {
  client_.ask("BEGIN");
  EXPECT_EQ(claimed(client_, "held"), "new");
  ClientSession other(url());
  other.ask("SET lock_timeout = '50ms'");
  other.ask("BEGIN");
  EXPECT_EQ(claimed(other, "held"), "busy");
  EXPECT_EQ(other.ask("SELECT key, outcome FROM "
                      "semel.claim_many('payments', ARRAY['x', 'held', 'y', 'x'])"),
            "x|new\nheld|busy\ny|new\nx|duplicate");
  other.ask("COMMIT");
  EXPECT_EQ(other.ask("SHOW lock_timeout"), "50ms");
  client_.ask("ROLLBACK");
  EXPECT_EQ(claimed(other, "held"), "new");
  EXPECT_EQ(other.ask("SELECT outcome FROM semel.claim('payments', 'y')"), "duplicate");
}

// Other sessions wait for the keys it has claimed. Counted: how often it begins to insert, and how
// long it would then wait.
TEST_F(FunctionsClaims, ABatchWaitsOnceForAllItsBlockedKeysAndThenBriefly) {
  sql("CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE "
      "'waits %', current_setting('lock_timeout'); RETURN NEW; END $$");
  sql("CREATE TRIGGER tell BEFORE INSERT ON semel.semel_record_1 FOR EACH ROW EXECUTE FUNCTION "
      "tell()");
  client_.ask("BEGIN");
  client_.ask("SELECT semel.claim_many('payments', ARRAY['a', 'b', 'c'])");
  ClientSession other(url());
  std::map<std::string, int> waits;
  PQsetNoticeReceiver(
      other.connection(),
      [](void* counts, const PGresult* notice) {
        ++(*static_cast<std::map<std::string, int>*>(
            counts))[PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY)];
      },
      &waits);
  for (const auto& [set, whole, single] : {std::tuple{"0", "waits 5s", "waits 50ms"},
                                           {"200ms", "waits 200ms", "waits 50ms"},
                                           {"20ms", "waits 20ms", ""}}) {
    other.ask(fmt::format("SET lock_timeout = '{}'", set));
    other.ask("BEGIN");
    EXPECT_EQ(other.ask("SELECT key, outcome FROM semel.claim_many('payments', "
                        "ARRAY['a', 'x', 'b', 'a', 'y', 'c', 'b', 'x'])"),
              "a|busy\nx|new\nb|busy\na|busy\ny|new\nc|busy\nb|busy\nx|duplicate");
    EXPECT_EQ(other.ask("SHOW lock_timeout"), set) << "the client's own settings stay";
    other.ask("ROLLBACK");
    EXPECT_GE(waits[whole], 1) << set;
    if (*single != '\0') {
      EXPECT_EQ(waits[single], 6) << set << ": a blocked key once, x twice, and none for longer";
      EXPECT_LE(waits[whole], 5) << set;
    }
    waits.clear();
  }
  client_.ask("ROLLBACK");
}

TEST_F(FunctionsClaims, AKeyOfASealedGenerationIsKnownInTheNextOne) {
  EXPECT_EQ(claimed(client_, "old"), "new");
  advance(kRoll);
  ASSERT_TRUE(store_->purge(10s).has_value());
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_generation"), "2");
  EXPECT_EQ(claimed(client_, "old"), "duplicate");
  EXPECT_EQ(claimed(client_, "young"), "new");
  EXPECT_EQ(many("ARRAY['old', 'young', 'newest']"),
            "1|old|duplicate|\n2|young|duplicate|\n3|newest|new|");
  EXPECT_EQ(sql("SELECT count(*), max(generation) FROM semel.semel_record"), "3|2");
  advance(kTtl + 1min);
  ASSERT_TRUE(store_->purge(10s).has_value());
  EXPECT_EQ(claimed(client_, "old"), "new") << "its generation is gone";
}

TEST_F(FunctionsClaims, AGenerationStaysOpenWhileATransactionClaimsInIt) {
  client_.ask("BEGIN");
  EXPECT_EQ(claimed(client_, "k"), "new");
  advance(kRoll);
  ASSERT_TRUE(store_->purge(10s).has_value());
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_generation WHERE state = 'active' AND number = "
                "1"),
            "1");
  client_.ask("COMMIT");
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
}

// Its snapshot does not contain the new generation.
TEST_F(FunctionsClaims, ARepeatableReadThatMissedASealIsRunAgain) {
  EXPECT_EQ(claimed(client_, "old"), "new");
  for (const char* const level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    client_.ask(fmt::format("BEGIN ISOLATION LEVEL {}", level));
    client_.ask("SELECT 1 FROM moved");
    advance(kRoll);
    ASSERT_TRUE(store_->purge(10s).has_value());
    EXPECT_EQ(client_.refused("SELECT semel.claim('payments', 'k')").state, "40001") << level;
    client_.ask("ROLLBACK");
    client_.ask(fmt::format("BEGIN ISOLATION LEVEL {}", level));
    EXPECT_EQ(claimed(client_, level), "new");
    EXPECT_EQ(claimed(client_, "old"), "duplicate");
    client_.ask("COMMIT");
  }
}

// Its snapshot has a generation whose partition is gone.
TEST_F(FunctionsClaims, ARepeatableReadThatMissedADropIsRunAgain) {
  EXPECT_EQ(claimed(client_, "old"), "new");
  client_.ask("BEGIN ISOLATION LEVEL REPEATABLE READ");
  client_.ask("SELECT 1 FROM moved");
  for (const milliseconds by : {milliseconds(kRoll), kTtl + 1min}) {
    advance(by);
    ASSERT_TRUE(store_->purge(10s).has_value());
  }
  ASSERT_EQ(sql("SELECT count(*) FROM semel.semel_generation WHERE number = 1"), "0");
  EXPECT_EQ(client_.refused("SELECT semel.claim('payments', 'k')").state, "40001");
  client_.ask("ROLLBACK");
  EXPECT_EQ(claimed(client_, "k"), "new");
}

// It has read which generation is active, and waits for the lock of its partition, which a purge
// has. Then the purge commits.
TEST_F(FunctionsClaims, AClaimThatASealOvertakesIsMadeInTheNextGeneration) {
  EXPECT_EQ(claimed(client_, "old"), "new");
  sql("CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM set_config('lock_timeout', '0', true); PERFORM pg_advisory_xact_lock(1); "
      "RETURN NEW; END $$");
  sql("CREATE TRIGGER pause BEFORE UPDATE ON semel.semel_generation FOR EACH ROW EXECUTE FUNCTION "
      "pause()");
  client_.ask("SELECT pg_advisory_lock(1)");
  advance(kRoll);
  auto purge = std::async(std::launch::async, [this] { return store_->purge(10s).has_value(); });
  EXPECT_TRUE(test::comes_true([this] { return server_.lock_waiters(database_) == 1; }));
  const auto claim_later = [this](const char* call) {
    return std::async(std::launch::async, [this, call] {
      ClientSession other(url());
      other.ask("SET lock_timeout = '10min'");
      return other.ask(fmt::format("SELECT outcome FROM semel.{}", call));
    });
  };
  auto one = claim_later("claim('payments', 'one')");
  auto bytes = claim_later("claim('payments', 'bytes', '{}'::bytea)");
  auto again = claim_later("claim('payments', 'old', '{}')");
  auto many = claim_later("claim_many('payments', ARRAY['many'])");
  EXPECT_TRUE(test::comes_true([this] { return server_.lock_waiters(database_) == 5; }));
  client_.ask("SELECT pg_advisory_unlock(1)");
  EXPECT_TRUE(purge.get());
  EXPECT_EQ(one.get(), "new");
  EXPECT_EQ(bytes.get(), "new");
  EXPECT_EQ(many.get(), "new");
  EXPECT_EQ(again.get(), "duplicate");
  EXPECT_EQ(sql("SELECT generation, count(*) FROM semel.semel_record GROUP BY 1 ORDER BY 1"),
            "1|1\n2|3");
}

// A partition that is missing ends with the same SQLSTATE, and is no error.
TEST_F(FunctionsClaims, ACheckOfTheDatabaseOwnersIsTheCallersError) {
  sql("ALTER TABLE semel.semel_record_1 ADD CONSTRAINT none CHECK (false)");
  const auto refusal = client_.refused("SELECT semel.claim('payments', 'k')");
  EXPECT_EQ(refusal.state, "23514");
  EXPECT_NE(refusal.message.find("none"), std::string::npos) << refusal.message;
}

TEST_F(FunctionsClaims, BadInputIsRefusedWithOurCodeAndAHint) {
  const std::pair<const char*, const char*> calls[] = {
      {"claim('payments', '')", "SM271"},
      {"claim('payments', NULL)", "SM271"},
      {"claim('payments', repeat('x', 65537))", "SM271"},
      {"claim('payments', 'k', 'body'::bytea, 'print'::bytea)", "SM271"},
      {"claim('payments', 'k', fingerprint => 'short')", "SM271"},
      {"claim('nobody', 'k')", "SM272"},
      {"claim(NULL, 'k')", "SM272"},
      {"claim_many('payments', NULL)", "SM271"},
      {"claim_many('payments', ARRAY['a', 'b'], ARRAY['1']::bytea[])", "SM271"},
      {"claim_many('payments', ARRAY[['a', 'b']])", "SM271"},
      {"done('payments', 'k', repeat('x', 1048577))", "SM271"},
  };
  for (const auto& [call, state] : calls) {
    const auto refusal = client_.refused(fmt::format("SELECT semel.{}", call));
    EXPECT_EQ(refusal.state, state) << call << refusal.message;
    EXPECT_FALSE(refusal.hint.empty()) << call;
    const std::string code = "R" + std::string(state).substr(2);
    EXPECT_NE(refusal.message.find(code), std::string::npos) << call << refusal.message;
  }
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_record"), "0");
}

// Otherwise it would come again with its batch, and stop its neighbours for ever.
TEST_F(FunctionsClaims, AnInvalidKeyOfABatchIsAnsweredAsSuchAndItAlone) {
  const std::string batch =
      "SELECT key IS NOT NULL, outcome, retry_after IS NULL, reason FROM semel.claim_many("
      "'payments', ARRAY['a', NULL, '', repeat('x', 65537), 'short', 'both', 'printed', 'a'], "
      "ARRAY['1', '1', '1', '1', NULL, '1', NULL, '1']::bytea[], "
      "ARRAY[NULL, NULL, NULL, NULL, '123456789012345', semel.fingerprint('1'), "
      "semel.fingerprint('1'), NULL]::bytea[])";
  const auto answers = [](const char* first, const char* printed) {
    return fmt::format(
        "t|{}|t|\nf|invalid|t|an empty key identifies nothing\n"
        "t|invalid|t|an empty key identifies nothing\n"
        "t|invalid|t|the key has 65537 bytes, the limit is 65536\n"
        "t|invalid|t|the fingerprint has 15 bytes\n"
        "t|invalid|t|a payload and a fingerprint were given\nt|{}|t|\nt|duplicate|t|",
        first, printed);
  };
  EXPECT_EQ(client_.ask(batch), answers("new", "new"));
  EXPECT_EQ(client_.ask(batch), answers("duplicate", "duplicate"));
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_record"), "2");
  EXPECT_EQ(many("ARRAY[NULL, '']"), "1||invalid|\n2||invalid|");
}

TEST_F(FunctionsClaims, ABackslashIsABackslashWhateverTheSessionIsSetTo) {
  client_.ask("SET standard_conforming_strings = off");
  EXPECT_EQ(claimed(client_, "01ARZ3NDEKTSV4RRFFQ69G5FAV"), "new");
  EXPECT_EQ(client_.ask("SELECT outcome FROM semel.claim('payments', "
                        "'01ARZ3NDEKTSV4RRFFQ69G5FAV')"),
            "duplicate");
}

}  // namespace
}  // namespace semel::postgres
