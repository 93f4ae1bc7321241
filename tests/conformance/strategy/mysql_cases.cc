// MariaDB and MySQL join the strategy suite.
#include <semel/mysql.h>

#include <cstdlib>
#include <mutex>

#include "tests/conformance/strategy/age_gate_suite.h"
#include "tests/conformance/strategy/deadlock_suite.h"
#include "tests/conformance/strategy/mysql_caller.h"
#include "tests/conformance/strategy/row_guard_suite.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/pooled_database.h"

namespace semel::conformance {
namespace {

class MySqlPlace final : public StrategyPlace {
 public:
  explicit MySqlPlace(const test::MySqlFamilyServer& server)
      : server_(server), database_(server), other_program_(server, database_.name()) {
    sql("CREATE TABLE effect (name TEXT NOT NULL)");
    sql("CREATE TABLE taken (id BIGINT UNIQUE)");
    sql("CREATE TABLE ending (id BIGINT)");
    // As a CHECK would, which MySQL has since 8.0.16 only.
    sql("CREATE TRIGGER ends BEFORE INSERT ON ending FOR EACH ROW IF NEW.id = 1 THEN SIGNAL "
        "SQLSTATE 'HY000' SET MYSQL_ERRNO = 3819; END IF");
  }

  std::unique_ptr<Store> open() override {
    MySqlOptions options;
    options.url = database_.url();
    auto store = open_mysql(std::move(options));
    if (!store) {
      ADD_FAILURE() << store.error().message;
      std::abort();
    }
    return *std::move(store);
  }

  std::int64_t sql(const std::string& text) override {
    const std::scoped_lock lock(mutex_);
    return std::atoll(other_program_.ask(text).c_str());
  }
  bool somebody_waits() override { return server_.lock_waiters(database_.name()) > 0; }
  std::string inbox() override { return "semel_messages_received"; }

 private:
  std::mutex mutex_;
  const test::MySqlFamilyServer& server_;
  const test::PooledDatabase database_;
  MySqlCaller other_program_;
};

using PlaceMaker = std::unique_ptr<StrategyPlace> (*)();

std::unique_ptr<StrategyPlace> on_mariadb() {
  return std::make_unique<MySqlPlace>(test::MariaDbServer::shared());
}
std::unique_ptr<StrategyPlace> on_mysql() {
  return std::make_unique<MySqlPlace>(test::MySqlServer::shared());
}

std::vector<std::pair<std::string, PlaceMaker>> servers() {
  std::vector<std::pair<std::string, PlaceMaker>> all = {{"mariadb", on_mariadb}};
  // Without a MySQL 8, the test servers.mysql8.absent shows that.
  if (!test::MySqlServer::why_absent()) all.emplace_back("mysql8", on_mysql);
  return all;
}

std::vector<StrategyCase> on_each_server(bool (*wanted)(const StrategyCase&)) {
  std::vector<StrategyCase> some;
  for (const auto& [name, make] : servers()) {
    for (StrategyCase& one : cases_where(name, make, wanted)) some.push_back(std::move(one));
  }
  return some;
}

std::vector<StrategyCase> age_gates_on_each_server() {
  std::vector<StrategyCase> some;
  for (const auto& [name, make] : servers()) {
    for (StrategyCase& one : age_gate_cases(name, make, true)) some.push_back(std::move(one));
  }
  return some;
}

std::vector<StrategyCase> each(StrategyKind kind, bool transactional) {
  std::vector<StrategyCase> some;
  for (const auto& [name, make] : servers()) some.push_back({name, make, kind, transactional});
  return some;
}

INSTANTIATE_TEST_SUITE_P(
    MySql, StrategySuite,
    testing::ValuesIn(on_each_server([](const StrategyCase&) { return true; })), kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, TransactionalStrategySuite,
                         testing::ValuesIn(on_each_server([](const StrategyCase& c) {
                           return c.transactional;
                         })),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, RecordStrategySuite,
                         testing::ValuesIn(on_each_server([](const StrategyCase& c) {
                           return c.has_records();
                         })),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, PessimisticLockSuite,
                         testing::ValuesIn(each(StrategyKind::kPessimisticLock, true)),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, OptimisticLockSuite,
                         testing::ValuesIn(each(StrategyKind::kOptimisticLock, true)),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, DeadlockSuite,
                         testing::ValuesIn(each(StrategyKind::kDedupTable, true)),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, LeaseStrategySuite,
                         testing::ValuesIn(each(StrategyKind::kStateMachine, false)),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, InboxStrategySuite,
                         testing::ValuesIn(each(StrategyKind::kInbox, true)), kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, AgeGateSuite, testing::ValuesIn(age_gates_on_each_server()),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(MySql, AtMostOnceSuite,
                         testing::ValuesIn(each(StrategyKind::kAtMostOnce, false)),
                         kStrategyCaseName);

}  // namespace
}  // namespace semel::conformance
