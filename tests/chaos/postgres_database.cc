// A test bed's database is one on a PostgreSQL server.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <mutex>
#include <stdexcept>

#include <semel/postgres.h>

#include "tests/chaos/server_under_test.h"
#include "tests/support/postgres_server.h"

namespace semel::test {
namespace {

class PostgresDatabase final : public SqlDatabase {
 public:
  PostgresDatabase(const PostgresServer& server, int port)
      : name_(server.new_database()), url_(server.url(name_)), place_(url_) {
    const std::string own = fmt::format(":{}/", server.port());
    if (port != 0) place_.replace(place_.find(own), own.size(), fmt::format(":{}/", port));
  }

  std::string place() const override { return place_; }
  std::unique_ptr<Store> open() const override { return open(url_); }
  std::unique_ptr<Store> open_at_place() const override { return open(place_); }
  Rows rows(const std::string& sql) const override {
    const std::lock_guard lock(mutex_);
    if (connection_) {
      try {
        return run(connection_.get(), sql);
      } catch (const std::runtime_error&) {
        if (PQstatus(connection_.get()) == CONNECTION_OK) throw;
      }
    }
    // The first one, or the server was started again since.
    connection_.reset(PQconnectdb(url_.c_str()));
    run(connection_.get(), "SET client_min_messages = error; SET search_path = public, semel");
    return run(connection_.get(), sql);
  }
  std::string numbering() const override { return "bigserial PRIMARY KEY"; }
  std::string dead_letters() const override { return "SELECT key, reason FROM semel_dead_letters"; }
  std::string other_sessions() const override {
    return "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
           "pid <> pg_backend_pid()";
  }

 private:
  static std::unique_ptr<Store> open(const std::string& url) {
    PostgresOptions options;
    options.url = url;
    options.listens = false;
    auto store = open_postgres(options);
    if (!store) throw std::runtime_error(store.error().message);
    return *std::move(store);
  }
  static Rows run(PGconn* connection, const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, sql.c_str()),
                                                               &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(sql + ": " + PQerrorMessage(connection));
    }
    Rows rows;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      auto& fields = rows.emplace_back();
      for (int field = 0; field < PQnfields(result.get()); ++field) {
        fields.emplace_back(PQgetvalue(result.get(), row, field));
      }
    }
    return rows;
  }

  const std::string name_;
  const std::string url_;
  std::string place_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<PGconn, decltype(&PQfinish)> connection_{nullptr, &PQfinish};
};

class PostgresUnderTest final : public ServerUnderTest {
 public:
  DatabaseServer& server() override { return server_; }
  std::unique_ptr<Database> make_database(int port) const override {
    return std::make_unique<PostgresDatabase>(server_, port);
  }

 private:
  PostgresServer server_;
};

}  // namespace

std::unique_ptr<Database> make_database(const TempDir&) { return make_database_on_shared(); }

std::size_t share_of_rounds() { return 10; }

std::optional<std::size_t> half_of_matrix() { return 0; }

bool has_tables() { return true; }

bool has_steps() { return false; }

std::unique_ptr<ServerUnderTest> start_server() { return std::make_unique<PostgresUnderTest>(); }

const DatabaseServer& shared_server() { return PostgresServer::shared(); }

std::unique_ptr<Database> make_database_on_shared(int port) {
  return std::make_unique<PostgresDatabase>(PostgresServer::shared(), port);
}

const std::vector<std::string>& commit_words() {
  // With its end: READ COMMITTED is another word.
  static const std::vector<std::string> words = {std::string("COMMIT\0", 7)};
  return words;
}

std::string commit_answer() { return commit_words().front(); }

}  // namespace semel::test
