// The SQLite store joins the suites, with large and with tiny generations.
#include <semel/sqlite.h>

#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "stores/sqlite/store.h"
#include "telemetry/timed_store.h"
#include "tests/conformance/finish_model.h"
#include "tests/conformance/unit_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

// The sqlite3 shell, as it were.
class OtherSqliteProgram {
 public:
  explicit OtherSqliteProgram(const std::string& path) {
    if (sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
      fail("open");
    }
    sqlite3_busy_timeout(handle_, 10'000);
  }
  ~OtherSqliteProgram() { sqlite3_close(handle_); }
  OtherSqliteProgram(const OtherSqliteProgram&) = delete;
  OtherSqliteProgram& operator=(const OtherSqliteProgram&) = delete;

  Rows run(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sql);
    Rows rows;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      auto& row = rows.rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(value(statement, i));
    }
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE) fail(sql);
    return rows;
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), sqlite3_errmsg(handle_));
    std::abort();
  }
  static Value value(sqlite3_stmt* statement, int i) {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_INTEGER:
        return Value(std::int64_t{sqlite3_column_int64(statement, i)});
      case SQLITE_FLOAT:
        return Value(sqlite3_column_double(statement, i));
      case SQLITE_TEXT:
        return Value(
            std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, i)), size));
      case SQLITE_BLOB:
        return Value(
            Blob{Bytes(static_cast<const char*>(sqlite3_column_blob(statement, i)), size)});
      default:
        return Value(Null{});
    }
  }

  sqlite3* handle_ = nullptr;
};

class SqlitePlace final : public StorePlace {
 public:
  SqlitePlace(std::size_t generation_rows, bool measured)
      : generation_rows_(generation_rows), measured_(measured) {}

  std::unique_ptr<Store> open() override {
    SqliteOptions options;
    options.path = path_;
    options.generation_rows = generation_rows_;
    options.environment = &environment_;
    auto store = sqlite::open_store(std::move(options), clock_);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    if (!store) return nullptr;
    return measured_ ? telemetry::timed(std::move(*store), metrics_) : std::move(*store);
  }
  void advance(milliseconds by) override { clock_->advance(by); }
  bool draw_only(std::optional<std::uint64_t> number) override {
    random_.set(number);
    return true;
  }
  bool set_back(milliseconds by) override {
    clock_->jump(-by);
    return true;
  }
  std::function<Rows(const std::string&)> other_program() override {
    if (!other_) other_ = std::make_unique<OtherSqliteProgram>(path_);
    return [this](const std::string& sql) { return other_->run(sql); };
  }
  bool lock_oldest_held() override {
    other_program()("BEGIN IMMEDIATE");
    return false;
  }
  void let_go() override { other_program()("COMMIT"); }
  bool park_in_line(const Bytes& line) override {
    other_program()("UPDATE semel_held SET line = '" + line +
                    "', place = 0, line_bytes = 0 WHERE line IS NULL");
    return true;
  }
  std::vector<std::string> own_tables() override {
    std::vector<std::string> names;
    const Rows rows = other_program()(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE "
        "'semel\\_%' ESCAPE '\\'");
    for (const auto& row : rows.rows) names.push_back(std::get<std::string>(row[0]));
    return names;
  }
  bool schema_may_roll_back() override { return true; }

 private:
  test::TempDir folder_;
  std::string path_ = folder_.file("store.db");
  std::size_t generation_rows_;
  bool measured_;
  telemetry::StoreMetrics metrics_;
  test::SettableRandom random_;
  Environment environment_{system_environment().clock, &random_, system_environment().failpoints};
  std::shared_ptr<sqlite::MovedStoreClock> clock_ = std::make_shared<sqlite::MovedStoreClock>();
  std::unique_ptr<OtherSqliteProgram> other_;
};

StoreCase sqlite_case(std::string name, std::size_t generation_rows, bool measured) {
  return {std::move(name),
          [=] { return std::unique_ptr<StorePlace>(new SqlitePlace(generation_rows, measured)); }};
}

const auto kSqlite = testing::Values(sqlite_case("sqlite", SqliteOptions{}.generation_rows, false),
                                     // As in a run with an admin listener.
                                     sqlite_case("sqlite_tiny_generations", 3, true));

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreModelSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, FinishModelSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, HeldLinesSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, HeldSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, DeadLetterSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, RecordsSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, PositionsSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, GatesSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, AuditSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StepsSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, RunMarkersSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, UnitSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, UnitStatementSuite, kSqlite, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Sqlite, UnitModelSuite, kSqlite, kStoreCaseName);

}  // namespace
}  // namespace semel::conformance
