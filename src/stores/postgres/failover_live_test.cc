// A server that takes no writes any more and stays up: its sessions live on, and new ones reach the
// server that took over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/postgres.h>

#include <memory>

#include "stores/postgres/instance_lock.h"
#include "stores/postgres/store.h"
#include "tests/support/builders.h"
#include "tests/support/postgres_server.h"
#include "tests/support/waiting.h"

namespace semel::postgres {
namespace {

using test::PostgresServer;

class PostgresFailover : public testing::Test {
 protected:
  PostgresFailover() {
    PostgresOptions options;
    options.url = server_.url(database_);
    store_ = open_postgres(options).value();
    consumer_ = store_->attach({"payments", "recipe", false, {}}).value();
  }

  std::string sql(const std::string& text) const { return server_.query(database_, text); }
  int epoch() const { return std::stoi(sql("SELECT epoch FROM semel.semel_meta")); }
  // Sessions that are open see it too, a moment later.
  void demote() const { configure("SET default_transaction_read_only = on"); }
  void promote() const { configure("RESET default_transaction_read_only"); }
  // New sessions may write all the same, as if they reached another server.
  void let_new_sessions_write() const {
    sql(fmt::format("ALTER DATABASE {} SET default_transaction_read_only = off", database_));
  }
  // Empty where the claim succeeded.
  std::string refusal() {
    const Message message = test::make_message(consumer_, fmt::format("k{}", ++keys_));
    const Message* const one = &message;
    const auto claims = store_->claim({&one, 1}, {});
    return claims ? "" : claims.error().code;
  }
  std::string sessions(const std::string& which) const {
    return sql(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "application_name = 'semel' AND backend_start " +
        which);
  }
  std::string now() const { return sql("SELECT clock_timestamp()"); }

 private:
  void configure(const std::string& change) const {
    sql("ALTER SYSTEM " + change);
    sql("SELECT pg_reload_conf()");
  }

 protected:
  // Its own one: these tests change it.
  const PostgresServer server_{PostgresServer::fast()};
  const std::string database_ = server_.new_database();
  const Endpoint endpoint_{server_.url(database_), "semel"};
  const Dialect dialect_{endpoint_.schema};
  const SessionTexts texts_{dialect_, endpoint_.clock};
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
  int keys_ = 0;
};

TEST_F(PostgresFailover, SessionsAtADemotedServerAreReplaced) {
  ASSERT_EQ(refusal(), "");
  const int before = epoch();
  let_new_sessions_write();
  demote();
  ASSERT_TRUE(test::comes_true([&] { return refusal() == "R203"; }));
  std::string code = "R203";
  EXPECT_TRUE(test::comes_true([&] { return (code = refusal()) != "R203"; }));
  EXPECT_EQ(code, "");
  EXPECT_GT(epoch(), before) << "tokens would repeat";
}

TEST_F(PostgresFailover, AServerThatOnlyReadsForGoodIsAskedAgainUntilItWrites) {
  ASSERT_EQ(refusal(), "");
  const std::string before = now();
  demote();
  ASSERT_TRUE(test::comes_true([&] { return refusal() == "R203"; }));
  ASSERT_TRUE(test::comes_true([&] {
    EXPECT_EQ(refusal(), "R203");
    return sessions("<= '" + before + "'") == "0";
  }));
  const std::string after = now();
  ASSERT_TRUE(test::comes_true([&] {
    EXPECT_EQ(refusal(), "R203");
    return sessions("> '" + after + "'") != "0";
  })) << "also by a session that never wrote";
  promote();
  EXPECT_TRUE(test::comes_true([&] { return refusal().empty(); }));
}

// The new session is at the server that took over, and our own is still at the old one.
TEST_F(PostgresFailover, TheEpochGrowsBeforeANewSessionClaims) {
  InstanceLock first(endpoint_, dialect_, {false, std::chrono::milliseconds(0)});
  Connection before_it(endpoint_, dialect_, texts_);
  const std::int64_t number = first.number_for(before_it);
  const int before = epoch();
  let_new_sessions_write();
  demote();
  ASSERT_TRUE(test::comes_true([&] {
    semel::sql::Answer mode = before_it.ask_once("SHOW default_transaction_read_only");
    return mode.next() && mode.bytes(0) == "on";
  }));
  Connection looking(endpoint_, dialect_, texts_);
  ASSERT_TRUE(test::comes_true([&] {
    try {
      return first.number_for(looking) == number;
    } catch (const semel::sql::Failure& failed) {
      EXPECT_EQ(failed.error().code, "R203");
      return false;
    }
  }));
  EXPECT_GT(epoch(), before);
}

TEST_F(PostgresFailover, ALookThatWritesSaysNothingOfItsServer) {
  Connection connection(endpoint_, dialect_, texts_);
  const std::string write = "SELECT nextval('semel.semel_held_number')";
  connection.begin_look();
  EXPECT_THROW(connection.ask_once(write), semel::sql::Failure);
  connection.roll_back();
  EXPECT_FALSE(connection.refuses_writes());
  connection.ask_once("SET default_transaction_read_only = on");
  EXPECT_THROW(connection.ask_once(write), semel::sql::Failure);
  EXPECT_TRUE(connection.refuses_writes());
}

}  // namespace
}  // namespace semel::postgres
