// The PostgreSQL store joins the strategy suite.
#include <libpq-fe.h>

#include <semel/postgres.h>

#include <cstdlib>

#include "tests/conformance/strategy/age_gate_suite.h"
#include "tests/conformance/strategy/deadlock_suite.h"
#include "tests/conformance/strategy/row_guard_suite.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"

namespace semel::conformance {
namespace {

class PostgresPlace final : public StrategyPlace {
 public:
  PostgresPlace() {
    sql("CREATE TABLE effect (name text NOT NULL)");
    sql("CREATE TABLE taken (id bigint UNIQUE)");
    sql("CREATE TABLE ending (id bigint CHECK (id <> 1))");
  }
  ~PostgresPlace() override { PQfinish(connection_); }

  std::unique_ptr<Store> open() override {
    PostgresOptions options;
    options.url = database_.url();
    auto store = open_postgres(std::move(options));
    if (!store) {
      ADD_FAILURE() << store.error().message;
      std::abort();
    }
    return *std::move(store);
  }

  std::int64_t sql(const std::string& text) override {
    const std::scoped_lock lock(mutex_);
    PGresult* const result = PQexec(connection_, text.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << text << ": " << PQresultErrorMessage(result);
    const bool any = PQntuples(result) > 0 && PQgetisnull(result, 0, 0) == 0;
    const std::int64_t first = any ? std::atoll(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    return first;
  }
  bool somebody_waits() override {
    return test::PostgresServer::shared().lock_waiters(database_.name()) > 0;
  }
  std::string inbox() override { return "semel.semel_messages_received"; }

 private:
  std::mutex mutex_;
  const test::PooledDatabase database_{test::PostgresServer::shared()};
  PGconn* const connection_ = PQconnectdb(database_.url().c_str());
};

std::unique_ptr<StrategyPlace> make_postgres_place() { return std::make_unique<PostgresPlace>(); }

INSTANTIATE_TEST_SUITE_P(Postgres, StrategySuite,
                         testing::ValuesIn(cases_of("postgres", make_postgres_place, true)),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, TransactionalStrategySuite,
                         testing::ValuesIn(cases_where("postgres", make_postgres_place,
                                                       [](const StrategyCase& c) {
                                                         return c.transactional;
                                                       })),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, RecordStrategySuite,
                         testing::ValuesIn(cases_where("postgres", make_postgres_place,
                                                       [](const StrategyCase& c) {
                                                         return c.has_records();
                                                       })),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, PessimisticLockSuite,
                         testing::Values(StrategyCase{"postgres", make_postgres_place,
                                                      StrategyKind::kPessimisticLock, true}),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, OptimisticLockSuite,
                         testing::Values(StrategyCase{"postgres", make_postgres_place,
                                                      StrategyKind::kOptimisticLock, true}),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, DeadlockSuite,
                         testing::Values(StrategyCase{"postgres", make_postgres_place,
                                                      StrategyKind::kDedupTable, true}),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, DeadlockOfProcessesSuite,
                         testing::Values(StrategyCase{"postgres", make_postgres_place,
                                                      StrategyKind::kDedupTable, true}),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, LeaseStrategySuite,
                         testing::Values(StrategyCase{"postgres", make_postgres_place,
                                                      StrategyKind::kStateMachine, false}),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, InboxStrategySuite,
                         testing::Values(StrategyCase{"postgres", make_postgres_place,
                                                      StrategyKind::kInbox, true}),
                         kStrategyCaseName);

INSTANTIATE_TEST_SUITE_P(Postgres, AgeGateSuite,
                         testing::ValuesIn(age_gate_cases("postgres", make_postgres_place, true)),
                         kStrategyCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, AtMostOnceSuite,
                         testing::ValuesIn(at_most_once_cases("postgres", make_postgres_place)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
