#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <semel/postgres.h>

#include "benchmarks/functions_loop.h"
#include "benchmarks/measure.h"
#include "benchmarks/server_place.h"

namespace semel::bench {
namespace {

constexpr std::size_t kPostgresAccounts = 10'000;

constexpr char kPostgresBareFunction[] = R"sql(
CREATE FUNCTION bare_function(
  consumer text, key text, payload bytea DEFAULT NULL, fingerprint bytea DEFAULT NULL,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
#variable_conflict use_column
BEGIN
  INSERT INTO public.processed_key (key, fingerprint)
    VALUES (bare_function.key, bare_function.fingerprint) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    outcome := 'new';
  END IF;
END $body$)sql";

class PostgresLoop final : public FunctionsLoop {
 public:
  explicit PostgresLoop(const test::PostgresServer& server)
      : place_(make_postgres_place(server, kPostgresAccounts)) {
    if (!place_->open()->attach({"bench", "recipe", false, std::chrono::hours(1)})) {
      give_up("no consumer");
    }
    PostgresOptions options;
    options.url = place_->url();
    if (const auto made = make_postgres_functions(options); !made) give_up(made.error().message);
    connection_ = PQconnectdb(place_->url().c_str());
    if (PQstatus(connection_) != CONNECTION_OK) give_up(PQerrorMessage(connection_));
    run("CREATE TABLE processed_key (key text PRIMARY KEY, fingerprint bytea NOT NULL, "
        "completed_at timestamptz NOT NULL DEFAULT clock_timestamp())");
    prepare("insert",
            "INSERT INTO processed_key (key, fingerprint) VALUES ($1::text, decode($2::text, "
            "'hex')) ON CONFLICT (key) DO NOTHING");
    run(kPostgresBareFunction);
    prepare("bare_function",
            "SELECT outcome, result FROM bare_function('bench', $1::text, fingerprint => "
            "decode($2::text, 'hex'))");
    prepare("claim",
            "SELECT outcome, result FROM semel.claim('bench', $1::text, fingerprint => "
            "decode($2::text, 'hex'))");
    prepare("claim_many",
            "SELECT outcome, result FROM semel.claim_many('bench', $1::text[], fingerprints => "
            "$2::bytea[]) ORDER BY ordinality");
    prepare("effect", "UPDATE account SET balance = balance + $2::bigint WHERE id = $1::bigint");
  }
  ~PostgresLoop() override { PQfinish(connection_); }
  const SocketDirectory& place() const noexcept override { return *place_; }

 protected:
  void run(const char* sql) override {
    PGresult* const result = PQexec(connection_, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) give_up(PQresultErrorMessage(result));
    PQclear(result);
  }
  bool insert(const Message& message) override {
    return changed(ask("insert", message.key, message.fingerprint)) == 1;
  }
  bool call_bare_function(const Message& message) override {
    return outcomes(ask("bare_function", message.key, message.fingerprint)).at(0);
  }
  bool claim(const Message& message) override {
    return outcomes(ask("claim", message.key, message.fingerprint)).at(0);
  }
  std::vector<bool> claim_many(const std::vector<Message>& messages) override {
    std::string keys = "{", prints = "{";
    for (const Message& message : messages) {
      const char* const comma = &message == messages.data() ? "" : ",";
      keys += comma + message.key;
      prints += fmt::format("{}\"\\\\x{}\"", comma, message.fingerprint);
    }
    return outcomes(ask("claim_many", keys + "}", prints + "}"));
  }
  void make_effect(const Message& message) override {
    check_count(changed(ask("effect", message.account, message.amount)), 1, "accounts");
  }

 private:
  void prepare(const char* name, const char* sql) {
    PGresult* const result = PQprepare(connection_, name, sql, 2, nullptr);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) give_up(PQresultErrorMessage(result));
    PQclear(result);
  }
  PGresult* ask(const char* name, const std::string& one, const std::string& other) {
    const std::array<const char*, 2> values{one.c_str(), other.c_str()};
    PGresult* const result =
        PQexecPrepared(connection_, name, 2, values.data(), nullptr, nullptr, 0);
    const auto status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      give_up(PQresultErrorMessage(result));
    }
    return result;
  }
  static std::size_t changed(PGresult* result) {
    const auto rows = static_cast<std::size_t>(std::atoll(PQcmdTuples(result)));
    PQclear(result);
    return rows;
  }
  static std::vector<bool> outcomes(PGresult* result) {
    std::vector<bool> fresh;
    for (int row = 0; row < PQntuples(result); ++row) {
      fresh.push_back(std::string_view(PQgetvalue(result, row, 0)) == "new");
    }
    PQclear(result);
    return fresh;
  }

  const std::unique_ptr<SocketDirectory> place_;
  PGconn* connection_ = nullptr;
};

}  // namespace

std::unique_ptr<FunctionsLoop> make_postgres_loop(const test::PostgresServer& server) {
  return std::make_unique<PostgresLoop>(server);
}

}  // namespace semel::bench
