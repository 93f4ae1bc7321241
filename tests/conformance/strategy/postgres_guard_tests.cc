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
  explicit PostgresCaller(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
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
    return borrow_postgres(connection_, options);
  }

 private:
  PGconn* connection_;
};

class PostgresGuardPlace final : public GuardPlace {
 public:
  std::unique_ptr<Caller> connect() override {
    return std::make_unique<PostgresCaller>(database_.url());
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
  const test::PooledDatabase database_{test::PostgresServer::shared()};
};

INSTANTIATE_TEST_SUITE_P(Postgres, GuardSuite,
                         testing::Values(GuardCase{
                             "postgres", [] { return std::make_unique<PostgresGuardPlace>(); }}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
