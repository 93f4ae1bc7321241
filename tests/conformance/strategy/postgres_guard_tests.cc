// PostgreSQL joins the suite of Guard.
#include <libpq-fe.h>

#include <semel/postgres.h>

#include "tests/conformance/strategy/guard_suite.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"

namespace semel::conformance {
namespace {

class PostgresCaller final : public Caller {
 public:
  PostgresCaller(const std::string& url, bool prepares)
      : connection_(PQconnectdb(url.c_str())), prepares_(prepares) {
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);
  }
  ~PostgresCaller() override { PQfinish(connection_); }

  void run(const std::string& sql) override { ask(sql); }
  std::string ask(const std::string& sql) override {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQresultErrorMessage(result);
    std::string first = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return first;
  }
  void begin(const std::string& isolation) override { run("BEGIN ISOLATION LEVEL " + isolation); }
  bool in_transaction() override {
    return PQtransactionStatus(connection_) == PQTRANS_INTRANS &&
           PQpipelineStatus(connection_) == PQ_PIPELINE_OFF;
  }
  Result<std::unique_ptr<Store>> borrow() override {
    PostgresBorrow options;
    options.create_tables = true;
    options.prepare_statements = prepares_;
    return borrow_postgres(connection_, options);
  }

 private:
  PGconn* connection_;
  const bool prepares_;
};

class PostgresGuardPlace final : public GuardPlace {
 public:
  explicit PostgresGuardPlace(bool prepares) : prepares_(prepares) {}
  std::unique_ptr<Caller> connect() override {
    return std::make_unique<PostgresCaller>(database_.url(), prepares_);
  }
  Result<std::unique_ptr<Store>> open() override {
    PostgresOptions options;
    options.url = database_.url();
    return open_postgres(std::move(options));
  }
  bool somebody_waits() override {
    return test::PostgresServer::shared().lock_waiters(database_.name()) > 0;
  }
  bool may_ask_again() const override { return true; }

 private:
  const bool prepares_;
  const test::PooledDatabase database_{test::PostgresServer::shared()};
};

GuardCase guard_case(std::string name, bool prepares) {
  return {std::move(name), [prepares] { return std::make_unique<PostgresGuardPlace>(prepares); }};
}

INSTANTIATE_TEST_SUITE_P(Postgres, GuardSuite,
                         testing::Values(guard_case("postgres", false),
                                         guard_case("postgres_prepared", true)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
