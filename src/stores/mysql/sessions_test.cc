// Sessions that compete for a key, step by step, at every default isolation of the server.
#include <gtest/gtest.h>

#include <semel/mysql.h>
#include <semel/spi/unit_of_work.h>

#include <future>
#include <ostream>

#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/waiting.h"

namespace semel {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::make_message;

const test::MySqlFamilyServer& serializable() {
  static const test::MariaDbServer server([] {
    test::MariaDbServer::Options options = test::MariaDbServer::fast();
    options.arguments.emplace_back("--transaction-isolation=SERIALIZABLE");
    options.arguments.emplace_back("--autocommit=0");
    return options;
  }());
  return server;
}

struct Served {
  const char* name;
  const test::MySqlFamilyServer& (*server)();
  const char* isolation;
};
std::ostream& operator<<(std::ostream& out, const Served& served) { return out << served.name; }

std::vector<Served> served() {
  std::vector<Served> all = {
      {"mariadb", []() -> const test::MySqlFamilyServer& { return test::MariaDbServer::shared(); },
       "REPEATABLE-READ"},
      {"mariadb_serializable", serializable, "SERIALIZABLE"}};
  // Where it is missing, the test servers.mysql8.absent reports that.
  if (!test::MySqlServer::why_absent()) {
    all.push_back({"mysql8",
                   []() -> const test::MySqlFamilyServer& { return test::MySqlServer::shared(); },
                   "REPEATABLE-READ"});
  }
  return all;
}

class MySqlSessions : public testing::TestWithParam<Served> {
 protected:
  // A unit that has claimed this one message.
  struct Held {
    std::unique_ptr<UnitOfWork> unit;
    Claim claim;
    void complete() {
      const Finish done = test::completed(std::get<Acquired>(claim).lease);
      ASSERT_TRUE(unit->finish({&done, 1}).has_value());
      ASSERT_TRUE(unit->commit().has_value());
      unit.reset();
    }
  };

  MySqlSessions()
      : server_(GetParam().server()),
        database_(server_.new_database()),
        first_(open()),
        second_(open()),
        consumer_(first_->attach({"payments", "recipe", false, {}}).value()) {}

  std::unique_ptr<Store> open() const {
    MySqlOptions options;
    options.url = server_.url(database_);
    return open_mysql(options).value();
  }
  std::string sql(const std::string& text) const { return server_.query(database_, text); }
  Message message(const std::string& key) const { return make_message(consumer_, key); }

  // Not repeated: a conflict that the store cannot resolve itself is an error here.
  static Held claim_in_unit(Store& store, const Message& message) {
    UnitOptions options;
    options.patience = 60s;
    const Message* const one = &message;
    auto unit = store.facets().transactional->begin(options).value();
    auto claims = unit->claim({&one, 1});
    EXPECT_TRUE(claims.has_value()) << claims.error().message;
    return {std::move(unit), claims ? claims->front() : Claim(Busy{})};
  }
  static std::future<Held> claiming(Store& store, const Message& message) {
    return std::async(std::launch::async, [&] { return claim_in_unit(store, message); });
  }
  static Claim claim(Store& store, const Message& message) {
    const Message* const one = &message;
    return store.claim({&one, 1}, {}).value().front();
  }
  static bool ready(std::future<Held>& one, milliseconds patience = 0ms) {
    return one.wait_for(patience) == std::future_status::ready;
  }
  template <class T>
  static bool is(const Claim& claim) {
    return std::holds_alternative<T>(claim);
  }

  void wait_for_waiters(int count) const {
    ASSERT_TRUE(test::comes_true([&] { return server_.lock_waiters(database_) == count; }))
        << "they do not wait";
  }

  const test::MySqlFamilyServer& server_;
  const std::string database_;
  const std::unique_ptr<Store> first_, second_;
  const ConsumerNumber consumer_;
};

TEST_P(MySqlSessions, TheServerWouldGiveThisIsolation) {
  const bool mysql = sql("SELECT @@version").starts_with("8.");
  EXPECT_EQ(sql(mysql ? "SELECT @@transaction_isolation" : "SELECT @@tx_isolation"),
            GetParam().isolation);
}

TEST_P(MySqlSessions, WhoWaitsLearnsHowTheFirstEnded) {
  for (const bool committed : {true, false}) {
    SCOPED_TRACE(committed);
    const Message m = message(committed ? "committed" : "rolled back");
    Held first = claim_in_unit(*first_, m);
    ASSERT_TRUE(is<Acquired>(first.claim));
    auto waiting = claiming(*second_, m);
    wait_for_waiters(1);
    EXPECT_FALSE(ready(waiting));
    if (committed) {
      first.complete();
    } else {
      first.unit.reset();
    }
    Held second = waiting.get();
    EXPECT_EQ(is<Completed>(second.claim), committed);
    EXPECT_EQ(is<Acquired>(second.claim), !committed);
    if (!committed) second.complete();
    EXPECT_TRUE(is<Completed>(claim(*first_, m)));
  }
}

// If both get a shared lock on the rolled-back row, they deadlock.
TEST_P(MySqlSessions, OfTwoWhoWaitOneHasTheKeyThatWasGivenUp) {
  const Message m = message("k");
  Held first = claim_in_unit(*first_, m);
  ASSERT_TRUE(is<Acquired>(first.claim));
  std::future<Held> waiting[] = {claiming(*second_, m), claiming(*first_, m)};
  wait_for_waiters(2);
  first.unit.reset();
  while (!ready(waiting[0], 1ms) && !ready(waiting[1], 1ms)) continue;
  const std::size_t winner = ready(waiting[0]) ? 0 : 1;
  Held second = waiting[winner].get();
  ASSERT_TRUE(is<Acquired>(second.claim));
  wait_for_waiters(1);
  EXPECT_FALSE(ready(waiting[1 - winner], 20ms));
  second.complete();
  EXPECT_TRUE(is<Completed>(waiting[1 - winner].get().claim));
}

// A session that waits for a row in the middle does not block keys next to it.
TEST_P(MySqlSessions, KeysBesideOneInAnothersHandsAreFree) {
  Held first = claim_in_unit(*first_, message("m"));
  ASSERT_TRUE(is<Acquired>(first.claim));
  const Message twin = message("m");
  auto waiting = claiming(*second_, twin);
  wait_for_waiters(1);
  for (int i = 0; i < 20; ++i) {
    const Message beside = message("beside" + std::to_string(i));
    auto other = claiming(*second_, beside);
    ASSERT_TRUE(ready(other, 60s)) << i;
    Held held = other.get();
    ASSERT_TRUE(is<Acquired>(held.claim)) << i;
    held.complete();
  }
  EXPECT_FALSE(ready(waiting));
  first.complete();
  EXPECT_TRUE(is<Completed>(waiting.get().claim));
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlSessions, testing::ValuesIn(served()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel
