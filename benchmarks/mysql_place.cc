#include <fmt/format.h>
#include <mysql.h>

#include <string>
#include <string_view>
#include <vector>

#include <semel/mysql.h>

#include "benchmarks/measure.h"
#include "benchmarks/message_fields.h"
#include "benchmarks/server_place.h"
#include "tests/support/pooled_database.h"

namespace semel::bench {
namespace {

class MySqlConnection {
 public:
  MySqlConnection(const std::string& socket, const std::string& database)
      : connection_(mysql_init(nullptr)) {
    if (mysql_real_connect(connection_, nullptr, "root", nullptr, database.c_str(), 0,
                           socket.c_str(), CLIENT_MULTI_STATEMENTS) == nullptr) {
      give_up(mysql_error(connection_));
    }
    run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  }
  ~MySqlConnection() { mysql_close(connection_); }
  MySqlConnection(const MySqlConnection&) = delete;
  MySqlConnection& operator=(const MySqlConnection&) = delete;

  // One statement or several, in one packet and one round trip. Yields the rows that they changed.
  std::size_t run(const std::string& packet) {
    if (mysql_real_query(connection_, packet.data(), packet.size()) != 0) fail();
    std::size_t changed = 0;
    for (;;) {
      if (mysql_field_count(connection_) == 0) changed += mysql_affected_rows(connection_);
      MYSQL_RES* const rows = mysql_store_result(connection_);
      if (rows != nullptr) mysql_free_result(rows);
      const int more = mysql_next_result(connection_);
      if (more < 0) return changed;
      if (more > 0) fail();
    }
  }
  long long number(const char* sql) {
    if (mysql_query(connection_, sql) != 0) fail();
    MYSQL_RES* const rows = mysql_store_result(connection_);
    const MYSQL_ROW row = mysql_fetch_row(rows);
    const long long found = row != nullptr && row[0] != nullptr ? std::atoll(row[0]) : 0;
    mysql_free_result(rows);
    return found;
  }

 private:
  [[noreturn]] void fail() { give_up(mysql_error(connection_)); }

  MYSQL* connection_;
};

void append_hex(std::string& out, const void* data, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto* const bytes = static_cast<const unsigned char*>(data);
  out += "x'";
  for (std::size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 0xF];
  }
  out += '\'';
}

constexpr char kMySqlTables[] =
    "CREATE TABLE IF NOT EXISTS processed (id VARBINARY(16) PRIMARY KEY, "
    "  fingerprint VARBINARY(16) NOT NULL, completed_at DATETIME(6) NOT NULL) ENGINE = InnoDB;"
    "CREATE TABLE IF NOT EXISTS claimed (id VARBINARY(16) PRIMARY KEY, "
    "  fingerprint VARBINARY(16) NOT NULL, nonce VARBINARY(16) NOT NULL, "
    "  lease_until DATETIME(6) NOT NULL, attempt BIGINT NOT NULL) ENGINE = InnoDB;"
    "CREATE TABLE IF NOT EXISTS inbox (row_id BIGINT AUTO_INCREMENT PRIMARY KEY, "
    "  message_key VARBINARY(64), received_at DATETIME(6) NOT NULL, processed_at DATETIME(6), "
    "  payload LONGBLOB) ENGINE = InnoDB";

class MySqlByHand final : public ByHand {
 public:
  MySqlByHand(const std::string& socket, const std::string& database, Work work)
      : work_(work), connection_(socket, database) {
    connection_.run(kMySqlTables);
  }

  void preload(const std::vector<std::string>& payloads) override {
    const std::vector<Fields> fields = sorted_fields(payloads);
    constexpr std::size_t kPart = 10'000;
    for (std::size_t i = 0; i < fields.size(); i += kPart) {
      connection_.run(records(fields, i, std::min(kPart, fields.size() - i)));
    }
  }

 protected:
  // Claims first, for who lost one must not work; then all work and the commit in one packet.
  void handle(const std::string* payloads, std::size_t count) override {
    fields_.resize(count);
    for (std::size_t i = 0; i < count; ++i) parser_.parse(payloads[i], fields_[i]);
    if (work_ == Work::kTwoPhase) return handle_twice();
    check_new(connection_.run("BEGIN;" + records(fields_, 0, count)), count);
    std::string packet;
    if (work_ == Work::kInbox) append_kept(packet, payloads, count);
    if (work_ != Work::kClaims) {
      for (const Fields& fields : fields_) append_effect(packet, fields);
    }
    connection_.run(packet + "COMMIT");
  }

  void handle_naively(const std::string& payload) override {
    if (work_ == Work::kTwoPhase || work_ == Work::kInbox) return handle(&payload, 1);
    fields_.resize(1);
    parser_.parse(payload, fields_.front());
    connection_.run("BEGIN");
    check_new(connection_.run(records(fields_, 0, 1)), 1);
    if (work_ == Work::kEffects) {
      std::string effect;
      append_effect(effect, fields_.front());
      effect.pop_back();
      connection_.run(effect);
    }
    connection_.run("COMMIT");
  }

 private:
  static constexpr std::size_t kPrint = 16, kIdAt = 7, kIdSize = 36;

  static void check_new(std::size_t claimed, std::size_t count) {
    check_count(claimed, count, "keys were new");
  }
  // A row that is there already is counted as no change.
  static std::string records(const std::vector<Fields>& fields, std::size_t first,
                             std::size_t count) {
    std::string sql = "INSERT INTO processed VALUES ";
    for (std::size_t i = first; i < first + count; ++i) {
      if (i != first) sql += ',';
      sql += '(';
      append_hex(sql, fields[i].id.bytes, sizeof fields[i].id.bytes);
      sql += ',';
      append_hex(sql, fields[i].digest, kPrint);
      sql += ",NOW(6))";
    }
    return sql + " ON DUPLICATE KEY UPDATE id = processed.id";
  }
  static void append_effect(std::string& out, const Fields& fields) {
    out += fmt::format("UPDATE account SET balance = balance + {} WHERE id = {};", fields.amount,
                       fields.account);
  }
  static void append_kept(std::string& out, const std::string* payloads, std::size_t count) {
    out += "INSERT INTO inbox (message_key, received_at, processed_at, payload) VALUES ";
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) out += ',';
      out += fmt::format("('{}',NOW(6),NOW(6),", payloads[i].substr(kIdAt, kIdSize));
      append_hex(out, payloads[i].data(), payloads[i].size());
      out += ')';
    }
    out += ';';
  }
  void handle_twice() {
    std::string claims = "INSERT INTO claimed VALUES ", ids = "(", nonces = "(";
    for (const Fields& fields : fields_) {
      const bool first = &fields == fields_.data();
      if (!first) claims += ',', ids += ',', nonces += ',';
      claims += '(';
      append_hex(claims, fields.id.bytes, sizeof fields.id.bytes);
      claims += ',';
      append_hex(claims, fields.digest, kPrint);
      claims += ',';
      append_hex(claims, fields.digest + kPrint, kPrint);
      claims += ",NOW(6) + INTERVAL 1 MINUTE,1)";
      append_hex(ids, fields.id.bytes, sizeof fields.id.bytes);
      append_hex(nonces, fields.digest + kPrint, kPrint);
    }
    ids += ')', nonces += ')';
    check_new(connection_.run(claims + " ON DUPLICATE KEY UPDATE id = claimed.id"), fields_.size());
    const std::size_t changed = connection_.run(fmt::format(
        "BEGIN; INSERT INTO processed SELECT id, fingerprint, NOW(6) FROM claimed WHERE id IN {0} "
        "AND nonce IN {1}; DELETE FROM claimed WHERE id IN {0} AND nonce IN {1}; COMMIT",
        ids, nonces));
    check_new(changed, 2 * fields_.size());
  }

  const Work work_;
  MySqlConnection connection_;
  Parser parser_;
  std::vector<Fields> fields_;
};

class MySqlPlace final : public SocketDirectory {
 public:
  MySqlPlace(const test::MySqlFamilyServer& server, std::size_t rows)
      : socket_(server.address().socket), database_(server) {
    MySqlConnection connection(socket_, database_.name());
    connection.run("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)");
    std::string values;
    for (std::size_t i = 0; i < rows; ++i) values += fmt::format("{}({},0)", i == 0 ? "" : ",", i);
    connection.run("INSERT INTO account VALUES " + values);
  }

  std::unique_ptr<ByHand> by_hand(Work work) const override {
    return std::make_unique<MySqlByHand>(socket_, database_.name(), work);
  }
  std::string url() const override {
    return fmt::format("mysql://root@localhost/{}?socket={}", database_.name(), socket_);
  }
  std::unique_ptr<Store> open() const override {
    MySqlOptions options;
    options.url = url();
    auto store = open_mysql(std::move(options));
    if (!store) give_up(store.error().message);
    return std::move(*store);
  }
  long long sum() const override {
    return MySqlConnection(socket_, database_.name()).number("SELECT SUM(balance) FROM account");
  }
  std::size_t processed() const override {
    return static_cast<std::size_t>(
        MySqlConnection(socket_, database_.name()).number("SELECT COUNT(*) FROM processed"));
  }

  bool fill(Keys keys, std::size_t count) const override {
    MySqlConnection connection(socket_, database_.name());
    // An empty table is filled page by page then.
    connection.run(
        "SET SESSION unique_checks = 0, foreign_key_checks = 0, sort_buffer_size = 536870912");
    const std::string ids = fmt::format(
        "(SELECT {} AS id FROM seq_0_to_{}) AS made",
        keys == Keys::kOrdered ? "CONCAT(UNHEX(LPAD(HEX(1600000000000 + seq DIV 100), 12, '0')), "
                                 "UNHEX(HEX(28672 + (seq MOD 100) * 16)), RANDOM_BYTES(8))"
                               : "UNHEX(INSERT(HEX(RANDOM_BYTES(16)), 13, 1, '4'))",
        count - 1);
    constexpr const char* kPrintOfId = "LEFT(UNHEX(SHA2(made.id, 256)), 16)";
    const auto insert = [&](const std::string& sql) {
      check_count(connection.run(sql), count, "records were made");
    };
    insert(
        fmt::format("INSERT INTO processed SELECT made.id, {}, NOW(6) FROM {} ORDER BY "
                    "made.id",
                    kPrintOfId, ids));
    connection.run("SELECT LEFT(id, 4), generation INTO @head, @generation FROM semel_record");
    connection.run("TRUNCATE TABLE semel_record");
    insert(fmt::format(
        "INSERT INTO semel_record (id, generation, fingerprint, changed_at) "
        "SELECT CONCAT(@head, made.id), @generation, {}, NOW(6) FROM {} ORDER BY made.id",
        kPrintOfId, ids));
    connection.run("ANALYZE TABLE processed, semel_record");
    return true;
  }

 private:
  const std::string socket_;
  const test::PooledDatabase database_;
};

}  // namespace

std::unique_ptr<SocketDirectory> make_mysql_place(const test::MySqlFamilyServer& server,
                                                  std::size_t rows) {
  return std::make_unique<MySqlPlace>(server, rows);
}

}  // namespace semel::bench
