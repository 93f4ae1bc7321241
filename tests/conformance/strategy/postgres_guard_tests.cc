// PostgreSQL joins the suite of Guard; plus tests of a connection in unusual states.
#include <libpq-fe.h>

#include <fmt/format.h>

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
  std::string end_session() override {
    return fmt::format("SELECT pg_terminate_backend({}, 60000)", PQbackendPID(connection_));
  }
  PGconn* handle() noexcept { return connection_; }
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

class GuardOnPostgres : public testing::Test {
 protected:
  void expect_refused(const std::string& hint) {
    const auto answers = guard_.run_batch(kBatch, [](std::size_t) { FAIL(); });
    ASSERT_FALSE(answers[0]);
    EXPECT_EQ(answers[0].error().kind, ErrorKind::kRejected);
    EXPECT_EQ(answers[0].error().code, "R208");
    EXPECT_NE(answers[0].error().hint.find(hint), std::string::npos) << answers[0].error().hint;
  }
  void expect_done(std::string_view key) {
    const auto outcome = guard_.run_once(key, kBody, [] {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->kind, Outcome::Kind::kDone);
  }

  inline static const std::vector<BatchMessage> kBatch{{"k", kBody}};
  const test::PooledDatabase database_{test::PostgresServer::shared()};
  PostgresCaller caller_{database_.url(), false};
  const std::unique_ptr<Store> store_ = caller_.borrow().value();
  Guard guard_{*store_, orders()};
};

TEST_F(GuardOnPostgres, EachRefusalNamesWhatToDo) {
  expect_refused("BEGIN");
  caller_.run("BEGIN");
  PQclear(PQexec(caller_.handle(), "SELECT nothing FROM nowhere"));
  expect_refused("ROLLBACK");
  caller_.run("ROLLBACK");
  caller_.run("BEGIN");
  ASSERT_EQ(PQenterPipelineMode(caller_.handle()), 1);
  expect_refused("PQexitPipelineMode");
  ASSERT_EQ(PQexitPipelineMode(caller_.handle()), 1);
  ASSERT_EQ(PQsendQuery(caller_.handle(), "SELECT 1"), 1);
  expect_refused("read all its results");
  while (PGresult* const result = PQgetResult(caller_.handle())) PQclear(result);
  expect_done("k");
}

TEST_F(GuardOnPostgres, AnEncodingThatChangesLaterIsRefusedToo) {
  caller_.run("BEGIN");
  expect_done("before");
  caller_.run("SET client_encoding = 'LATIN1'");
  expect_refused("UTF8");
  caller_.run("SET client_encoding = 'UTF8'");
  expect_done("k");
}

TEST_F(GuardOnPostgres, AResetConnectionGoesOnWithTheSameStore) {
  PostgresCaller other(database_.url(), false);
  caller_.run("BEGIN");
  other.run(caller_.end_session());
  const auto lost = guard_.run_once("k", kBody, [] { FAIL(); });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::kUnavailable);
  PQreset(caller_.handle());
  expect_refused("BEGIN");
  caller_.run("BEGIN");
  expect_done("k");
  caller_.run("COMMIT");
}

INSTANTIATE_TEST_SUITE_P(Postgres, GuardSuite,
                         testing::Values(guard_case("postgres", false),
                                         guard_case("postgres_prepared", true)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
