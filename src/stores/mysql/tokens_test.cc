// Tokens of one key grow, also where the next holder had to wait: for its lock, or for another key
// of its batch (docs/contract.md, rule 3).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "stores/mysql/test_functions.h"
#include "tests/support/builders.h"
#include "tests/support/finish_one.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;

class MySqlTokens : public FunctionsTest {
 protected:
  MySqlTokens() {
    std::ranges::sort(messages_, {}, [](const Message& message) { return message.key().id; });
  }
  static Lease lease_of(const Claim& claim) { return std::get<Acquired>(claim).lease; }
  Lease acquired(const Message& message) { return lease_of(claim(*other_store_, message)); }
  // Both are claimed by a batch that waits for the first, which another session has. Meanwhile
  // another process has the second, and ends it.
  Token waits_while(ClientSession& holder, const std::function<void()>& meanwhile) {
    std::vector<Claim> claims;
    std::thread batch([&] { claims = store_->claim(test::pointers(messages_), {}).value(); });
    EXPECT_TRUE(test::comes_true([this] { return server().lock_waiters(database_) == 1; }));
    meanwhile();
    holder.ask("ROLLBACK");
    batch.join();
    const auto* const taken = std::get_if<Acquired>(&claims.at(1));
    EXPECT_NE(taken, nullptr);
    return taken == nullptr ? Token{} : taken->lease.token;
  }

  std::vector<Message> messages_ = test::make_messages(consumer_, "k", 2);
  const std::unique_ptr<Store> other_store_ = another_store();
};

TEST_P(MySqlTokens, GrowForAKeyThatIsTakenOverByABatchThatWaited) {
  const std::vector<Claim> claims = store_->claim(test::pointers(messages_), {}).value();
  for (const Claim& claimed : claims) {
    const Lease lease = lease_of(claimed);
    EXPECT_EQ(test::finish_one(*store_, test::retrying(lease, 0ms, nullptr)), Applied::kYes);
  }
  ClientSession holder(url());
  holder.ask("START TRANSACTION");
  holder.ask(fmt::format("SELECT id FROM semel_record WHERE id = {} FOR UPDATE",
                         hex(messages_[0].key().id.view())));
  Token between{};
  const Token last = waits_while(holder, [&] {
    const Lease lease = acquired(messages_[1]);
    between = lease.token;
    EXPECT_EQ(test::finish_one(*other_store_, test::retrying(lease, 0ms, nullptr)), Applied::kYes);
  });
  EXPECT_GT(last, between);
}

TEST_P(MySqlTokens, GrowForAKeyThatWasGivenBackWhileABatchWaited) {
  ClientSession holder(url());
  holder.ask("START TRANSACTION");
  EXPECT_EQ(claimed(holder, messages_[0].key().text), "new");
  Token between{};
  const Token last = waits_while(holder, [&] {
    const Lease lease = acquired(messages_[1]);
    between = lease.token;
    EXPECT_EQ(test::finish_one(*other_store_, test::not_started(lease)), Applied::kYes);
  });
  EXPECT_GT(last, between);
}

TEST_P(MySqlTokens, GrowForAProcedureThatWaited) {
  const Begun first = begun(client_, "k");
  const auto ended = [](ClientSession& session, const Begun& begun) {
    return called(session,
                  fmt::format("retry('payments', 'k', {}, 0, NULL, NULL)", hex(begun.lease.nonce)));
  };
  EXPECT_EQ(ended(client_, first), "retry");
  ClientSession holder(url());
  holder.ask("START TRANSACTION");
  const Begun between = begun(holder, "k");
  Begun last;
  ClientSession waiting(url());
  std::thread waits([&] { last = begun(waiting, "k"); });
  EXPECT_TRUE(test::comes_true([this] { return server().lock_waiters(database_) == 1; }));
  EXPECT_EQ(ended(holder, between), "retry");
  holder.ask("COMMIT");
  waits.join();
  ASSERT_EQ(last.outcome, "new");
  EXPECT_GT(last.lease.token, between.lease.token);
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlTokens, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
