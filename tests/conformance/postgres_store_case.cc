// The PostgreSQL store joins the suites: each place has a database of a real server to itself.
#include <libpq-fe.h>
#include <semel/postgres.h>

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "stores/postgres/store.h"
#include "tests/conformance/finish_model.h"
#include "tests/conformance/unit_model.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

// psql, as it were.
class OtherPostgresProgram {
 public:
  explicit OtherPostgresProgram(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);
    run("SET search_path = public, semel");
  }
  ~OtherPostgresProgram() { PQfinish(connection_); }
  OtherPostgresProgram(const OtherPostgresProgram&) = delete;
  OtherPostgresProgram& operator=(const OtherPostgresProgram&) = delete;

  Rows run(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(sql + ": " + PQresultErrorMessage(result));
    }
    Rows rows;
    for (int row = 0; row < PQntuples(result); ++row) {
      auto& values = rows.rows.emplace_back();
      for (int column = 0; column < PQnfields(result); ++column) {
        values.push_back(value(result, row, column));
      }
    }
    PQclear(result);
    return rows;
  }

 private:
  static Value value(const PGresult* result, int row, int column) {
    if (PQgetisnull(result, row, column) != 0) return Null{};
    const std::string text = PQgetvalue(result, row, column);
    constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kInt4 = 23;
    const Oid type = PQftype(result, column);
    if (type == kBool) return std::int64_t{text == "t" ? 1 : 0};
    if (type == kBytea) return bytes(text);
    if (type != kInt8 && type != kInt4) return text;
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  // As text where it is text, as a person reads it.
  static Value bytes(const std::string& hex) {
    std::size_t size = 0;
    unsigned char* const raw =
        PQunescapeBytea(reinterpret_cast<const unsigned char*>(hex.c_str()), &size);
    Bytes out(reinterpret_cast<const char*>(raw), size);
    PQfreemem(raw);
    const bool plain = out.find('\0') == Bytes::npos;
    return plain ? Value(std::string(std::move(out))) : Value(Blob{std::move(out)});
  }

  PGconn* connection_;
};

class PostgresPlace final : public StorePlace {
 public:
  PostgresPlace() {
    other_.run("CREATE TABLE public.moved (by interval NOT NULL, since timestamptz NOT NULL)");
    other_.run("INSERT INTO public.moved VALUES ('0', clock_timestamp())");
  }

  std::unique_ptr<Store> open() override {
    PostgresOptions options;
    options.url = database_.url();
    options.environment = &environment_;
    postgres::InnerOptions inner;
    // The clock runs slowly by itself: on a busy machine a test takes longer than the times that it
    // measures.
    inner.clock = "(SELECT since + by + (clock_timestamp() - since) / 10 FROM public.moved)";
    inner.grace = milliseconds(0);
    auto store = postgres::open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  void advance(milliseconds by) override {
    other_.run("UPDATE public.moved SET by = by + interval '" + std::to_string(by.count()) +
               " milliseconds'");
    clock_.advance(by);
  }
  bool draw_only(std::optional<std::uint64_t> number) override {
    random_.set(number);
    return true;
  }
  bool set_back(milliseconds by) override {
    other_.run("UPDATE public.moved SET by = by - interval '" + std::to_string(by.count()) +
               " milliseconds'");
    return true;
  }
  std::string echo() override {
    return "SELECT ?::int, ?::bigint, ?::float8, ?::text, ?::bytea, ?::text";
  }
  bool text_may_hold_nul() override { return false; }
  void notice_death(pid_t pid) override {
    // Its lock is free, and nothing is in the middle of a transaction.
    const std::string noticed =
        "SELECT count(*) FROM pg_stat_activity AS a WHERE a.datname = current_database() "
        "AND a.pid <> pg_backend_pid() AND (a.state <> 'idle' OR EXISTS (SELECT 1 FROM pg_locks "
        "AS l JOIN semel.semel_instance AS i ON l.objid = i.number::oid WHERE l.pid = a.pid AND "
        "l.locktype = 'advisory' AND l.granted AND i.pid = " +
        std::to_string(pid) + "))";
    while (std::get<std::int64_t>(other_.run(noticed).rows.at(0).at(0)) != 0) {
      std::this_thread::sleep_for(1ms);
    }
  }
  bool somebody_waits() override {
    return test::PostgresServer::shared().lock_waiters(database_.name()) > 0;
  }
  std::function<Rows(const std::string&)> other_program() override {
    return [this](const std::string& sql) { return other_.run(sql); };
  }
  bool lock_oldest_held() override {
    other_.run("BEGIN");
    other_.run("SELECT row_id FROM semel_held ORDER BY row_id LIMIT 1 FOR UPDATE");
    return true;
  }
  void let_go() override { other_.run("COMMIT"); }
  bool park_in_line(const Bytes& line) override {
    other_.run("UPDATE semel_held SET line = '" + line +
               "', place = 0, line_bytes = 0 WHERE line IS NULL");
    return true;
  }
  std::vector<std::string> own_tables() override {
    std::vector<std::string> names;
    const Rows rows = other_.run(
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'semel' AND tablename NOT LIKE "
        "'semel_record_%'");
    for (const auto& row : rows.rows) names.push_back(std::get<std::string>(row[0]));
    return names;
  }

 private:
  const test::PooledDatabase database_{test::PostgresServer::shared()};
  OtherPostgresProgram other_{database_.url()};
  test::PassingClock clock_;
  test::SettableRandom random_;
  Environment environment_{&clock_, &random_, system_environment().failpoints};
};

const auto kPostgres = testing::Values(
    StoreCase{"postgres", [] { return std::unique_ptr<StorePlace>(new PostgresPlace()); }});

INSTANTIATE_TEST_SUITE_P(Postgres, StoreSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, StoreModelSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, FinishModelSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, HeldLinesSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, HeldSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, DeadLetterSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, RecordsSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, PositionsSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, GatesSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, AuditSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, StepsSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, RunMarkersSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, UnitSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, UnitStatementSuite, kPostgres, kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Postgres, UnitModelSuite, kPostgres, kStoreCaseName);

}  // namespace
}  // namespace semel::conformance
