// Claims with a lease by SQL functions: for effects outside of a transaction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>

#include "base/digest.h"
#include "stores/postgres/test_functions.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::make_message;

class FunctionsLeases : public FunctionsTest {
 protected:
  // Ends the key `k` under a nonce.
  std::string ended(const char* function, const Nonce& nonce, const std::string& more = {}) {
    return called(client_, fmt::format("{}('payments', 'k', {}{})", function,
                                       bytes(sql::Param(nonce).bytes()), more));
  }
  std::string state() const {
    return sql("SELECT state, attempt, reason, error FROM semel.semel_records");
  }
};

TEST_F(FunctionsLeases, WorkIsBegunOnceAndCompleted) {
  const Begun first = begun(client_, "k");
  ASSERT_EQ(first.outcome, "new");
  EXPECT_EQ(first.rest, "1|f");
  EXPECT_EQ(client_.ask("SELECT outcome, nonce IS NULL, retry_after FROM "
                        "semel.begin('payments', 'k', '{}')"),
            "busy|t|00:00:05");
  EXPECT_EQ(begun(client_, "k", "1 hour", "other").outcome, "conflict");
  EXPECT_EQ(ended("renew", first.lease.nonce), "renewed");
  EXPECT_EQ(ended("complete", first.lease.nonce, ", 'its answer'"), "done");
  EXPECT_EQ(client_.ask("SELECT outcome, convert_from(result, 'UTF8') FROM "
                        "semel.begin('payments', 'k', '{}')"),
            "duplicate|its answer");
  EXPECT_EQ(ended("complete", first.lease.nonce), "lease_lost") << "it is ended";
}

TEST_F(FunctionsLeases, ALateHolderChangesNothing) {
  const Begun late = begun(client_, "k", "1 minute");
  ASSERT_EQ(late.outcome, "new");
  advance(2min);
  const Begun next = begun(client_, "k");
  ASSERT_EQ(next.outcome, "new");
  EXPECT_EQ(next.rest, "2|t") << "taken over";
  EXPECT_GT(next.lease.token, late.lease.token);
  for (const char* const function : {"renew", "complete", "retry", "dead", "release"}) {
    EXPECT_EQ(ended(function, late.lease.nonce), "lease_lost") << function;
  }
  EXPECT_EQ(state(), "consuming|2||");
  EXPECT_EQ(ended("complete", next.lease.nonce), "done");
}

TEST_F(FunctionsLeases, ARenewedLeaseIsNotTakenOver) {
  const Begun holder = begun(client_, "k", "3 minutes");
  advance(2min);
  EXPECT_EQ(ended("renew", holder.lease.nonce, ", '3 minutes'"), "renewed");
  advance(2min);
  EXPECT_EQ(begun(client_, "k").outcome, "busy");
  advance(2min);
  EXPECT_EQ(ended("renew", holder.lease.nonce), "renewed") << "nobody took it meanwhile";
}

TEST_F(FunctionsLeases, WhatIsGivenBackWasNotBegun) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("release", first.lease.nonce), "released");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel.semel_record"), "0") << "as if it had not been claimed";
  EXPECT_EQ(ended("release", first.lease.nonce), "lease_lost") << "it is given back";
  const Begun failed = begun(client_, "k");
  EXPECT_EQ(failed.rest, "1|f");
  EXPECT_EQ(ended("retry", failed.lease.nonce, ", '0', 'handler.native', 'no answer'"), "retry");
  const Begun second = begun(client_, "k");
  ASSERT_EQ(second.outcome, "new");
  EXPECT_EQ(second.rest, "2|f");
  EXPECT_EQ(ended("release", second.lease.nonce), "released");
  EXPECT_EQ(state(), "retrying|1|handler.native|no answer") << "what an earlier try left stands";
  EXPECT_EQ(begun(client_, "k").rest, "2|f") << "at once, and the attempt was not counted";
}

// A purge takes a record out of the sight of one statement and puts it into that of the next.
TEST_F(FunctionsLeases, WhatAPurgeMovesMeanwhileIsGivenBackWithWhatItTells) {
  (void)begun(client_, "k", "1 minute");
  advance(2min);
  const Begun holder = begun(client_, "k");
  ASSERT_EQ(holder.rest, "2|t");
  ClientSession purge(url());
  purge.ask("CREATE TEMP TABLE taken AS SELECT * FROM semel.semel_record");
  purge.ask("BEGIN");
  purge.ask("DELETE FROM semel.semel_record");
  purge.ask("INSERT INTO semel.semel_record SELECT * FROM taken");
  auto released =
      std::async(std::launch::async, [&] { return ended("release", holder.lease.nonce); });
  EXPECT_TRUE(test::comes_true([this] { return server_.lock_waiters(database_) == 1; }));
  purge.ask("COMMIT");
  EXPECT_EQ(released.get(), "released");
  EXPECT_EQ(state(), "retrying|1||");
  EXPECT_EQ(begun(client_, "k").rest, "2|t");
}

// As a purge moves it: from one generation to another, in one transaction.
TEST_F(FunctionsLeases, AClaimThatAPurgeMovesMeanwhileMayBeAskedForAgain) {
  constexpr const char* kBegin =
      "SELECT outcome, attempt, taken_over, token, encode(nonce, 'escape'), retry_after "
      "FROM semel.begin('payments', 'k', '{}', '1 year', own_nonce => 'aaaaaaaaaaaaaaaa')";
  const std::string first = client_.ask(kBegin);
  EXPECT_EQ(first.substr(0, 8), "new|1|f|");
  advance(kRoll);
  ASSERT_TRUE(store_->purge(10s).has_value());
  ASSERT_EQ(sql("SELECT count(*) FROM semel.semel_generation"), "2");
  ClientSession purge(url());
  purge.ask("CREATE TEMP TABLE taken AS SELECT * FROM semel.semel_record");
  purge.ask("UPDATE taken SET generation = 2");
  purge.ask("BEGIN");
  purge.ask("DELETE FROM semel.semel_record");
  purge.ask("INSERT INTO semel.semel_record SELECT * FROM taken");
  auto again = std::async(std::launch::async, [&] { return client_.ask(kBegin); });
  EXPECT_TRUE(test::comes_true([this] { return server_.lock_waiters(database_) == 1; }));
  purge.ask("COMMIT");
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(sql("SELECT generation FROM semel.semel_record"), "2");
}

TEST_F(FunctionsLeases, ARetryWaitsUntilItIsDue) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("retry", first.lease.nonce, ", '1 hour', 'handler.native', 'no answer'"),
            "retry");
  EXPECT_EQ(state(), "retrying|1|handler.native|no answer");
  EXPECT_EQ(client_.ask("SELECT outcome, retry_after BETWEEN '59 minutes' AND '1 hour' FROM "
                        "semel.begin('payments', 'k', '{}')"),
            "retry|t");
  EXPECT_EQ(claimed(client_, "k"), "retry");
  advance(2h);
  const Begun second = begun(client_, "k");
  ASSERT_EQ(second.outcome, "new");
  EXPECT_EQ(second.rest, "2|f");
  EXPECT_EQ(ended("retry", second.lease.nonce, ", '300000 years'"), "retry") << "the far future";
  EXPECT_EQ(claimed(client_, "k"), "retry");
}

// Later times mean "never due", and other databases cannot store them.
TEST_F(FunctionsLeases, NoTimeIsLaterThanEveryDatabaseCanHave) {
  constexpr const char* kLatest = "9999-12-29 23:59:59.999";
  for (const char* const length : {"7990 years", "300000 years"}) {
    const Begun begun_for_long = begun(client_, "k", length);
    ASSERT_EQ(begun_for_long.outcome, "new") << length;
    const char* const lease = "SELECT lease_until AT TIME ZONE 'UTC' FROM semel.semel_record";
    EXPECT_EQ(sql(lease), kLatest) << length;
    EXPECT_EQ(ended("renew", begun_for_long.lease.nonce, fmt::format(", '{}'", length)), "renewed");
    EXPECT_EQ(sql(lease), kLatest) << length;
    EXPECT_EQ(ended("retry", begun_for_long.lease.nonce, fmt::format(", '{}'", length)), "retry");
    EXPECT_EQ(sql("SELECT next_at AT TIME ZONE 'UTC' FROM semel.semel_record"), kLatest) << length;
    sql("DELETE FROM semel.semel_record");
  }
}

// As after a commit whose answer was lost.
TEST_F(FunctionsLeases, AClaimUnderTheCallersNonceMayBeAskedForAgain) {
  const auto asked = [this](char nonce, const char* payload = "{}") {
    return client_.ask(
        fmt::format("SELECT outcome, attempt, taken_over, token, encode(nonce, 'escape'), "
                    "retry_after FROM semel.begin('payments', 'k', '{}', '1 minute', "
                    "own_nonce => '{}')",
                    payload, std::string(sizeof(Nonce{}.bytes), nonce)));
  };
  const std::string first = asked('a');
  EXPECT_EQ(first.substr(0, 8), "new|1|f|");
  EXPECT_EQ(asked('a'), first);
  EXPECT_EQ(asked('a', "other").substr(0, 9), "conflict|") << "not the same call";
  advance(40s);
  EXPECT_EQ(asked('a'), first);
  advance(40s);
  EXPECT_EQ(asked('b').substr(0, 5), "busy|") << "the lease is as long as it was asked for again";
  // A literal without a type is a text here too.
  EXPECT_EQ(client_.ask(R"(SELECT outcome FROM semel.begin('payments', 'j', 'back\slash',
                           own_nonce => 'aaaaaaaaaaaaaaaa'))"),
            "new");
  EXPECT_EQ(begun(client_, "j", "1 hour", R"(back\slash)").outcome, "busy") << "no conflict";
  EXPECT_EQ(asked('b').substr(0, 5), "busy|");
  advance(2min);
  EXPECT_EQ(asked('b').substr(0, 8), "new|2|t|");
  EXPECT_EQ(asked('a').substr(0, 5), "busy|") << "it was taken over";
  EXPECT_EQ(called(client_, "complete('payments', 'k', 'bbbbbbbbbbbbbbbb'::bytea)"), "done");
  EXPECT_EQ(asked('b').substr(0, 10), "duplicate|");
}

TEST_F(FunctionsLeases, ADeadKeyIsNoLongerBeingUndone) {
  const Begun first = begun(client_, "k");
  for (const char* const name : {"", "charge"}) {
    sql(
        fmt::format("INSERT INTO semel.semel_step (record, name, business, state, place, round, "
                    "attempts, tries, kept_at) VALUES ({}, '{}', '', '', 1, 1, 1, 1, now())",
                    bytes(first.lease.key.view()), name));
  }
  EXPECT_EQ(ended("dead", first.lease.nonce), "dead");
  EXPECT_EQ(sql("SELECT encode(name, 'escape') FROM semel.semel_step"), "charge");
}

TEST_F(FunctionsLeases, ADueRetryIsTakenByAClaimOfATransactionToo) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("retry", first.lease.nonce), "retry");
  client_.ask("BEGIN");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("SELECT semel.done('payments', 'k', 'r')");
  client_.ask("ROLLBACK");
  EXPECT_EQ(state(), "retrying|1|handler.native|") << "what an earlier try left stands again";
  EXPECT_EQ(client_.ask("SELECT outcome FROM semel.claim_many('payments', ARRAY['k', 'k'])"),
            "new\nduplicate");
}

TEST_F(FunctionsLeases, ADeadKeyStaysDead) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("dead", first.lease.nonce, ", 'payload.invalid', 'no amount'"), "dead");
  EXPECT_EQ(client_.ask("SELECT outcome, reason FROM semel.begin('payments', 'k', '{}')"),
            "dead|payload.invalid");
  EXPECT_EQ(client_.ask("SELECT outcome, reason FROM semel.claim('payments', 'k', '{}')"),
            "dead|payload.invalid");
  const Message message = make_message(consumer_, "k");
  const Claim closed = claim(*store_, message);
  ASSERT_TRUE(is<Closed>(closed));
  EXPECT_EQ(std::get<Closed>(closed).reason, "payload.invalid");
}

TEST_F(FunctionsLeases, AnEndingNeedsNoGenerationForNewRecords) {
  const Begun first = begun(client_, "k");
  sql("DELETE FROM semel.semel_generation");
  EXPECT_EQ(client_.refused("SELECT semel.claim('payments', 'k')").state, "SM272");
  EXPECT_EQ(ended("renew", first.lease.nonce), "renewed");
  EXPECT_EQ(ended("complete", first.lease.nonce), "done");
}

TEST_F(FunctionsLeases, AReasonThatIsNoTextIsAnsweredToo) {
  const Begun first = begun(client_, "k");
  EXPECT_EQ(ended("dead", first.lease.nonce), "dead");
  sql("UPDATE semel.semel_record SET reason = '\\xff41'::bytea");
  EXPECT_EQ(client_.ask("SELECT outcome, reason FROM semel.claim('payments', 'k', '{}')"),
            "dead|\\377A");
}

TEST_F(FunctionsLeases, TheStoreEndsWhatAClientBeganAndTheOtherWayRound) {
  const Begun begun_by_client = begun(client_, "of a client");
  EXPECT_TRUE(is<Busy>(claim(*store_, make_message(consumer_, "of a client"))));
  EXPECT_EQ(finish(*store_, test::completed(begun_by_client.lease, "by the store")), Applied::kYes);
  EXPECT_EQ(claimed(client_, "of a client"), "duplicate");
  const Claim stores = claim(*store_, make_message(consumer_, "k"));
  ASSERT_TRUE(is<Acquired>(stores));
  EXPECT_EQ(begun(client_, "k").outcome, "busy");
  EXPECT_EQ(ended("complete", std::get<Acquired>(stores).lease.nonce, ", 'by a client'"), "done");
  EXPECT_TRUE(is<Completed>(claim(*store_, make_message(consumer_, "k"))));
}

// Only the runner that reads the payload knows when it is handled.
TEST_F(FunctionsLeases, AMessageThatTheStoreKeepsComesBackToItsRun) {
  const Message message = make_message(consumer_, "k");
  const Claim acquired = claim(*store_, message);
  ASSERT_EQ(finish(*store_, test::retrying(std::get<Acquired>(acquired).lease, 0ms, &message)),
            Applied::kYes);
  EXPECT_EQ(begun(client_, "k").outcome, "retry");
  EXPECT_EQ(claimed(client_, "k"), "retry");
  EXPECT_EQ(sql("SELECT count(*) FROM semel.semel_held"), "1");
}

TEST_F(FunctionsLeases, BadInputIsRefusedWithOurCodeAndAHint) {
  for (const char* const call :
       {"begin('payments', '')", "begin('payments', 'k', 'p', '0')",
        "begin('payments', 'k', 'p', NULL)", "renew('payments', 'k', 'short')",
        "renew('payments', 'k', NULL)", "complete('payments', '', decode(repeat('00', 16), 'hex'))",
        "complete('payments', 'k', decode(repeat('00', 16), 'hex'), repeat('x', 1048577))",
        "begin('payments', 'k', own_nonce => 'short')",
        "begin('payments', 'k', own_nonce => decode(repeat('00', 16), 'hex'))",
        "retry('payments', 'k', 'short')", "dead('payments', NULL, NULL)"}) {
    const auto refusal = client_.refused(fmt::format("SELECT semel.{}", call));
    EXPECT_EQ(refusal.state, "SM271") << call << refusal.message;
    EXPECT_FALSE(refusal.hint.empty()) << call;
  }
  EXPECT_EQ(client_.refused("SELECT semel.begin('nobody', 'k')").state, "SM272");
  EXPECT_EQ(ended("complete", Nonce{}), "lease_lost") << "there is no record";
}

}  // namespace
}  // namespace semel::postgres
