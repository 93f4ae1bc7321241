// Claims by procedures, in the transactions of clients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>

#include <semel/guard.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/mysql/test_functions.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;
using test::make_message;

class FunctionsClaims : public FunctionsTest {
 protected:
  // Two sessions claim the key, the first of them in a transaction that ends as `end` says. What
  // the second is answered.
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
  // ordinality|key|outcome|result of each.
  static std::string many(ClientSession& session, const std::string& keys,
                          const std::string& payloads = "NULL",
                          const std::string& prints = "NULL") {
    const std::string rows = session.ask(
        fmt::format("CALL semel_claim_many('payments', {}, {}, {})", keys, payloads, prints));
    return rows;
  }
  // The nonce of a new claim, as SQL has it.
  std::string nonce_of(std::string_view key) const {
    return hex(sql(fmt::format("SELECT nonce FROM semel_record WHERE id = {}",
                               hex(core::encode_key(consumer_, key).view()))));
  }
};

TEST_P(FunctionsClaims, AClaimStandsAndGoesWithItsTransaction) {
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

TEST_P(FunctionsClaims, EachSideKnowsWhatTheOtherHasClaimed) {
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

TEST_P(FunctionsClaims, AResultNeedsTheNonceOfTheClaim) {
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

TEST_P(FunctionsClaims, TheSecondOfTwoWaitsAndIsADuplicateAfterTheCommit) {
  EXPECT_EQ(second_of_two("COMMIT"), "duplicate");
}

TEST_P(FunctionsClaims, TheSecondOfTwoWaitsAndIsNewAfterTheRollback) {
  EXPECT_EQ(second_of_two("ROLLBACK"), "new");
}

INSTANTIATE_TEST_SUITE_P(Servers, FunctionsClaims, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
