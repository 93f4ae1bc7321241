// The SQLite store joins the strategy suite.
#include <sqlite3.h>

#include <semel/sqlite.h>

#include "tests/conformance/strategy/age_gate_suite.h"
#include "tests/conformance/strategy/row_guard_suite.h"
#include "tests/support/temp_dir.h"

namespace semel::conformance {
namespace {

constexpr const char* kTables =
    "CREATE TABLE effect (name TEXT NOT NULL);"
    "CREATE TABLE taken (id INTEGER UNIQUE);"
    "CREATE TABLE ending (id INTEGER);"
    "CREATE TRIGGER ends BEFORE INSERT ON ending BEGIN SELECT RAISE(ROLLBACK, 'the end'); END;";

class SqlitePlace final : public StrategyPlace {
 public:
  SqlitePlace() {
    const auto made = open();
    sqlite3_open(dir_.file("store.db").c_str(), &connection_);
    sqlite3_busy_timeout(connection_, 10'000);
    sql(kTables);
  }
  ~SqlitePlace() override { sqlite3_close(connection_); }

  std::unique_ptr<Store> open() override {
    SqliteOptions options;
    options.path = dir_.file("store.db");
    auto store = open_sqlite(std::move(options));
    if (!store) {
      ADD_FAILURE() << store.error().message;
      std::abort();
    }
    return *std::move(store);
  }

  std::int64_t sql(const std::string& text) override {
    const std::scoped_lock lock(mutex_);
    std::int64_t first = 0;
    char* error = nullptr;
    const auto take = [](void* into, int columns, char** values, char**) {
      if (columns > 0 && values[0] != nullptr) {
        *static_cast<std::int64_t*>(into) = std::stoll(values[0]);
      }
      return 0;
    };
    sqlite3_exec(connection_, text.c_str(), take, &first, &error);
    EXPECT_EQ(error, nullptr) << error;
    sqlite3_free(error);
    return first;
  }

 private:
  test::TempDir dir_;
  std::mutex mutex_;
  sqlite3* connection_ = nullptr;
};

std::unique_ptr<StrategyPlace> make_sqlite_place() { return std::make_unique<SqlitePlace>(); }

INSTANTIATE_TEST_SUITE_P(Sqlite, StrategySuite,
                         testing::ValuesIn(cases_of("sqlite", make_sqlite_place, true)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Sqlite, TransactionalStrategySuite,
                         testing::ValuesIn(cases_where("sqlite", make_sqlite_place,
                                                       [](const StrategyCase& c) {
                                                         return c.transactional;
                                                       })),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Sqlite, RecordStrategySuite,
                         testing::ValuesIn(cases_where("sqlite", make_sqlite_place,
                                                       [](const StrategyCase& c) {
                                                         return c.has_records();
                                                       })),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Sqlite, PessimisticLockSuite,
                         testing::Values(StrategyCase{"sqlite", make_sqlite_place,
                                                      StrategyKind::kPessimisticLock, true}),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Sqlite, OptimisticLockSuite,
                         testing::Values(StrategyCase{"sqlite", make_sqlite_place,
                                                      StrategyKind::kOptimisticLock, true}),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Sqlite, LeaseStrategySuite,
                         testing::Values(StrategyCase{"sqlite", make_sqlite_place,
                                                      StrategyKind::kStateMachine, false}),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(Sqlite, InboxStrategySuite,
                         testing::Values(StrategyCase{"sqlite", make_sqlite_place,
                                                      StrategyKind::kInbox, true}),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(Sqlite, AgeGateSuite,
                         testing::ValuesIn(age_gate_cases("sqlite", make_sqlite_place, true)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Sqlite, AtMostOnceSuite,
                         testing::ValuesIn(at_most_once_cases("sqlite", make_sqlite_place)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
