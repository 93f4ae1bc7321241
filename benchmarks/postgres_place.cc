#include <fmt/format.h>
#include <libpq-fe.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/postgres.h>

#include "benchmarks/measure.h"
#include "benchmarks/message_fields.h"
#include "benchmarks/server_place.h"
#include "tests/support/pooled_database.h"

namespace semel::bench {
namespace {

constexpr Oid kBytea = 17, kBigint = 20, kByteas = 1001;

template <class T>
void append_big_endian(std::string& out, T value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xFF);
  }
}

std::string number(long long value) {
  std::string out;
  append_big_endian(out, static_cast<std::int64_t>(value));
  return out;
}

std::string_view bytes(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

// A bytea[] in the binary form.
class Array {
 public:
  explicit Array(std::size_t count) {
    append_big_endian(text_, std::int32_t{1});
    append_big_endian(text_, std::int32_t{0});
    append_big_endian(text_, static_cast<std::uint32_t>(kBytea));
    append_big_endian(text_, static_cast<std::int32_t>(count));
    append_big_endian(text_, std::int32_t{1});
  }
  void add(std::string_view value) {
    append_big_endian(text_, static_cast<std::int32_t>(value.size()));
    text_ += value;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class PostgresConnection {
 public:
  explicit PostgresConnection(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) give_up(PQerrorMessage(connection_));
    PQsetErrorVerbosity(connection_, PQERRORS_TERSE);
  }
  ~PostgresConnection() { PQfinish(connection_); }
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // In one round trip. Yields the first value of its first row as a number, or without rows how
  // many the last statement changed.
  long long run(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    check(result);
    const long long found =
        std::atoll(PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : PQcmdTuples(result));
    PQclear(result);
    return found;
  }
  void prepare(const char* name, const char* sql, const std::vector<Oid>& types) {
    PGresult* const result =
        PQprepare(connection_, name, sql, static_cast<int>(types.size()), types.data());
    check(result);
    PQclear(result);
  }
  void pipeline(bool on) {
    if ((on ? PQenterPipelineMode(connection_) : PQexitPipelineMode(connection_)) != 1) {
      give_up(PQerrorMessage(connection_));
    }
  }
  // A prepared statement with values in their binary form: in a pipeline it is only sent.
  void send(const char* name, std::initializer_list<std::string_view> values) {
    const char* data[kMost];
    int sizes[kMost], formats[kMost];
    int count = 0;
    for (const std::string_view value : values) {
      data[count] = value.data();
      sizes[count] = static_cast<int>(value.size());
      formats[count++] = 1;
    }
    if (PQsendQueryPrepared(connection_, name, count, data, sizes, formats, 1) != 1) {
      give_up(PQerrorMessage(connection_));
    }
    ++sent_;
  }
  // Waits for the answers of all that was sent. Yields the rows they have together.
  std::size_t sync() {
    if (PQpipelineSync(connection_) != 1) give_up(PQerrorMessage(connection_));
    std::size_t rows = 0;
    for (; sent_ > 0; --sent_) rows += take();
    take();
    return rows;
  }
  // Waits for the answer of the one statement that was sent outside of a pipeline.
  std::size_t wait() {
    sent_ = 0;
    return take();
  }

 private:
  static constexpr std::size_t kMost = 6;

  void check(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_PIPELINE_SYNC) {
      return;
    }
    give_up(PQerrorMessage(connection_));
  }
  std::size_t take() {
    std::size_t rows = 0;
    while (PGresult* const result = PQgetResult(connection_)) {
      check(result);
      rows += static_cast<std::size_t>(PQntuples(result));
      const bool synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
      PQclear(result);
      if (synced) break;
    }
    return rows;
  }

  PGconn* connection_;
  std::size_t sent_ = 0;
};

constexpr char kPostgresTables[] =
    "SET client_min_messages = error;"
    "CREATE TABLE IF NOT EXISTS processed (id bytea PRIMARY KEY, fingerprint bytea NOT NULL, "
    "  completed_at timestamptz NOT NULL);"
    "CREATE TABLE IF NOT EXISTS claimed (id bytea PRIMARY KEY, fingerprint bytea NOT NULL, "
    "  nonce bytea NOT NULL, lease_until timestamptz NOT NULL, attempt bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS inbox (row_id bigserial PRIMARY KEY, key bytea, "
    "  received_at timestamptz NOT NULL, processed_at timestamptz, payload bytea)";

class PostgresByHand final : public ByHand {
 public:
  PostgresByHand(const std::string& url, Work work) : work_(work), connection_(url) {
    connection_.run(kPostgresTables);
    connection_.prepare("begin", "BEGIN", {});
    connection_.prepare("commit", "COMMIT", {});
    connection_.prepare("record",
                        "INSERT INTO processed SELECT id, print, clock_timestamp() "
                        "FROM unnest($1, $2) AS new(id, print) ON CONFLICT (id) DO NOTHING "
                        "RETURNING id",
                        {kByteas, kByteas});
    connection_.prepare("effect", "UPDATE account SET balance = balance + $1 WHERE id = $2",
                        {kBigint, kBigint});
    connection_.prepare("keep",
                        "INSERT INTO inbox (key, received_at, processed_at, payload) SELECT key, "
                        "clock_timestamp(), clock_timestamp(), payload "
                        "FROM unnest($1, $2) AS new(key, payload)",
                        {kByteas, kByteas});
    connection_.prepare("claim",
                        "INSERT INTO claimed SELECT id, print, nonce, clock_timestamp() + interval "
                        "'1 minute', 1 FROM unnest($1, $2, $3) AS new(id, print, nonce) "
                        "ON CONFLICT (id) DO NOTHING RETURNING id",
                        {kByteas, kByteas, kByteas});
    connection_.prepare("complete",
                        "WITH ended AS (DELETE FROM claimed USING unnest($1, $2) AS its(id, nonce) "
                        "WHERE claimed.id = its.id AND claimed.nonce = its.nonce "
                        "RETURNING claimed.id, claimed.fingerprint) "
                        "INSERT INTO processed SELECT id, fingerprint, clock_timestamp() "
                        "FROM ended RETURNING id",
                        {kByteas, kByteas});
    connection_.prepare("one",
                        "INSERT INTO processed VALUES ($1, $2, clock_timestamp()) "
                        "ON CONFLICT (id) DO NOTHING",
                        {kBytea, kBytea});
  }

  void preload(const std::vector<std::string>& payloads) override {
    const std::vector<Fields> fields = sorted_fields(payloads);
    constexpr std::size_t kPart = 10'000;
    for (std::size_t i = 0; i < fields.size(); i += kPart) {
      const std::size_t count = std::min(kPart, fields.size() - i);
      Array ids(count), prints(count);
      for (std::size_t j = i; j < i + count; ++j) {
        ids.add(bytes(fields[j].id.bytes, sizeof fields[j].id.bytes));
        prints.add(bytes(fields[j].digest, kPrint));
      }
      connection_.send("record", {ids.text(), prints.text()});
      connection_.wait();
    }
  }

 protected:
  // Claims first, for who lost one must not work; then all work and the commit at once.
  void handle(const std::string* payloads, std::size_t count) override {
    fields_.resize(count);
    for (std::size_t i = 0; i < count; ++i) parser_.parse(payloads[i], fields_[i]);
    Array ids(count), prints(count), nonces(count), keys(count), bodies(count);
    for (std::size_t i = 0; i < count; ++i) {
      ids.add(bytes(fields_[i].id.bytes, sizeof fields_[i].id.bytes));
      prints.add(bytes(fields_[i].digest, kPrint));
      nonces.add(bytes(fields_[i].digest + kPrint, kPrint));
      keys.add(std::string_view(payloads[i]).substr(kIdAt, kIdSize));
      bodies.add(payloads[i]);
    }
    connection_.pipeline(true);
    if (work_ == Work::kTwoPhase) {
      connection_.send("claim", {ids.text(), prints.text(), nonces.text()});
      check_new(connection_.sync(), count);
      connection_.send("complete", {ids.text(), nonces.text()});
      check_new(connection_.sync(), count);
      connection_.pipeline(false);
      return;
    }
    connection_.send("begin", {});
    connection_.send("record", {ids.text(), prints.text()});
    check_new(connection_.sync(), count);
    if (work_ == Work::kInbox) connection_.send("keep", {keys.text(), bodies.text()});
    if (work_ != Work::kClaims) {
      for (const Fields& fields : fields_) {
        connection_.send("effect", {number(fields.amount), number(fields.account)});
      }
    }
    connection_.send("commit", {});
    connection_.sync();
    connection_.pipeline(false);
  }

  void handle_naively(const std::string& payload) override {
    if (work_ == Work::kTwoPhase || work_ == Work::kInbox) return handle(&payload, 1);
    Fields fields{};
    parser_.parse(payload, fields);
    connection_.run("BEGIN");
    connection_.send(
        "one", {bytes(fields.id.bytes, sizeof fields.id.bytes), bytes(fields.digest, kPrint)});
    connection_.wait();
    if (work_ == Work::kEffects) {
      connection_.send("effect", {number(fields.amount), number(fields.account)});
      connection_.wait();
    }
    connection_.run("COMMIT");
  }

 private:
  static constexpr std::size_t kPrint = 16, kIdAt = 7, kIdSize = 36;

  static void check_new(std::size_t claimed, std::size_t count) {
    check_count(claimed, count, "keys were new");
  }

  const Work work_;
  PostgresConnection connection_;
  Parser parser_;
  std::vector<Fields> fields_;
};

class PostgresPlace final : public SocketDirectory {
 public:
  PostgresPlace(const test::PostgresServer& server, std::size_t rows)
      : database_(server),
        url_(fmt::format("{}?host={}", database_.url(), server.address().socket)) {
    PostgresConnection connection(url_);
    connection.run("CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL)");
    connection.run(
        fmt::format("INSERT INTO account SELECT i, 0 FROM generate_series(0, {}) AS i", rows - 1));
    connection.run("VACUUM ANALYZE account");
  }

  std::unique_ptr<ByHand> by_hand(Work work) const override {
    return std::make_unique<PostgresByHand>(url_, work);
  }
  std::unique_ptr<Store> open() const override {
    PostgresOptions options;
    options.url = url_;
    auto store = open_postgres(std::move(options));
    if (!store) give_up(store.error().message);
    return std::move(*store);
  }
  std::string url() const override { return url_; }
  long long sum() const override {
    return PostgresConnection(url_).run("SELECT sum(balance) FROM account");
  }
  std::size_t processed() const override {
    return static_cast<std::size_t>(PostgresConnection(url_).run("SELECT count(*) FROM processed"));
  }

  bool fill(Keys keys, std::size_t count) const override {
    PostgresConnection connection(url_);
    connection.run("SET work_mem = '512MB'");
    const std::string ids =
        fmt::format("(SELECT {} AS id FROM generate_series(0, {}) AS i ORDER BY 1) AS made",
                    keys == Keys::kOrdered
                        ? "int8send((1600000000000 + i / 100) << 16 | 28672 | (i % 100) << 4) || "
                          "substring(uuid_send(gen_random_uuid()) FROM 9)"
                        : "uuid_send(gen_random_uuid())",
                    fmt::format("{}::bigint", count - 1));
    constexpr const char* kPrintOfId = "substring(sha256(made.id) FROM 1 FOR 16)";
    const auto insert = [&](const std::string& sql) {
      check_count(static_cast<std::size_t>(connection.run(sql)), count, "records were made");
    };
    insert(fmt::format("INSERT INTO processed SELECT made.id, {}, clock_timestamp() FROM {}",
                       kPrintOfId, ids));
    insert(fmt::format(
        "INSERT INTO semel.semel_record (id, generation, state, fingerprint, changed_at) "
        "SELECT substring(one.id FROM 1 FOR 4) || made.id, one.generation, one.state, {}, "
        "clock_timestamp() FROM (SELECT * FROM semel.semel_record LIMIT 1) AS one, {}",
        kPrintOfId, ids));
    connection.run("VACUUM ANALYZE processed");
    connection.run("VACUUM ANALYZE semel.semel_record");
    connection.run("CHECKPOINT");
    return true;
  }

 private:
  const test::PooledDatabase database_;
  const std::string url_;
};

}  // namespace

test::PostgresServer::Options postgres_options(const Options& options) {
  if (options.smoke()) return test::PostgresServer::fast();
  return {.settings = {"shared_buffers=1GB", "max_wal_size=8GB"}};
}

std::unique_ptr<SocketDirectory> make_postgres_place(const test::PostgresServer& server,
                                                     std::size_t rows) {
  return std::make_unique<PostgresPlace>(server, rows);
}

}  // namespace semel::bench
