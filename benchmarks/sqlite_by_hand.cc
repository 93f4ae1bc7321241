#include "benchmarks/sqlite_place.h"

#include <sqlite3.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <semel/sqlite.h>

#include "benchmarks/measure.h"
#include "benchmarks/message_fields.h"
#include "benchmarks/workload.h"

namespace semel::bench {

namespace {

[[noreturn]] void give_up_on(sqlite3* db, std::string_view doing) {
  bench::give_up(fmt::format("{}: {}", doing, sqlite3_errmsg(db)));
}

class SqliteConnection {
 public:
  SqliteConnection(const std::string& path, const char* synchronous) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) give_up_on(db_, path);
    sqlite3_busy_timeout(db_, 10'000);
    run("PRAGMA journal_mode = WAL");
    run(fmt::format("PRAGMA synchronous = {}", synchronous));
    run("PRAGMA cache_size = -32768");
    run("PRAGMA wal_autocheckpoint = 10000");
  }
  ~SqliteConnection() { sqlite3_close_v2(db_); }
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  sqlite3* get() const noexcept { return db_; }
  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      give_up_on(db_, sql);
  }
  long long number(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) give_up_on(db_, sql);
    const long long found =
        sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return found;
  }

 private:
  sqlite3* db_ = nullptr;
};

class Prepared {
 public:
  Prepared(SqliteConnection& connection, const char* sql) : db_(connection.get()) {
    if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) !=
        SQLITE_OK) {
      give_up_on(db_, sql);
    }
  }
  ~Prepared() { sqlite3_finalize(statement_); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  void number(int at, long long value) { sqlite3_bind_int64(statement_, at, value); }
  void bytes(int at, const void* data, std::size_t size) {
    sqlite3_bind_blob(statement_, at, data, static_cast<int>(size), SQLITE_STATIC);
  }
  void text(int at, std::string_view value) {
    sqlite3_bind_text(statement_, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  // True where a row changed.
  bool run() {
    if (sqlite3_step(statement_) != SQLITE_DONE) give_up_on(db_, sqlite3_sql(statement_));
    sqlite3_reset(statement_);
    return sqlite3_changes(db_) > 0;
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

long long now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// Where a message's record stands, and of a two-phase one its claim.
constexpr char kSqliteTables[] =
    "CREATE TABLE IF NOT EXISTS processed (id BLOB PRIMARY KEY, fingerprint BLOB NOT NULL, "
    "  completed_at INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS claimed (id BLOB PRIMARY KEY, fingerprint BLOB NOT NULL, "
    "  nonce BLOB NOT NULL, lease_until INTEGER NOT NULL, attempt INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS inbox (row INTEGER PRIMARY KEY, key BLOB, type TEXT, "
    "  received_at INTEGER NOT NULL, processed_at INTEGER, error TEXT, result BLOB, payload BLOB)";

class SqliteByHand final : public ByHand {
 public:
  SqliteByHand(const std::string& path, Work work)
      : work_(work), connection_(path, "FULL"), claims_(path, "NORMAL") {
    connection_.run(kSqliteTables);
    record_ =
        prepare(connection_, "INSERT INTO processed VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING");
    effect_ = prepare(connection_, "UPDATE account SET balance = balance + ? WHERE id = ?");
    inbox_ = prepare(connection_,
                     "INSERT INTO inbox (key, received_at, processed_at, payload) "
                     "VALUES (?, ?, ?, ?)");
    begin_ = prepare(connection_, "BEGIN IMMEDIATE");
    commit_ = prepare(connection_, "COMMIT");
    claim_ = prepare(claims_, "INSERT INTO claimed VALUES (?, ?, ?, ?, 1) ON CONFLICT DO NOTHING");
    claim_begin_ = prepare(claims_, "BEGIN IMMEDIATE");
    claim_commit_ = prepare(claims_, "COMMIT");
    complete_ = prepare(connection_, "DELETE FROM claimed WHERE id = ? AND nonce = ?");
  }

  void preload(const std::vector<std::string>& payloads) override {
    begin_->run();
    for (const Fields& fields : sorted_fields(payloads)) {
      record_->bytes(1, fields.id.bytes, sizeof fields.id.bytes);
      record_->bytes(2, fields.digest, 16);
      record_->number(3, now());
      record_->run();
    }
    commit_->run();
    connection_.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }

 protected:
  void handle(const std::string* payloads, std::size_t count) override {
    fields_.resize(count);
    for (std::size_t i = 0; i < count; ++i) parser_.parse(payloads[i], fields_[i]);
    if (work_ == Work::kTwoPhase) claim_all(count);
    begin_->run();
    std::size_t handled = 0;
    const long long time = now();
    for (std::size_t i = 0; i < count; ++i) {
      Fields& fields = fields_[i];
      if (work_ == Work::kTwoPhase) {
        complete_->bytes(1, fields.id.bytes, sizeof fields.id.bytes);
        complete_->bytes(2, fields.digest + 16, 16);
        if (!complete_->run()) continue;
      }
      record_->bytes(1, fields.id.bytes, sizeof fields.id.bytes);
      record_->bytes(2, fields.digest, 16);
      record_->number(3, time);
      if (!record_->run()) continue;
      if (work_ == Work::kInbox) keep(payloads[i], time);
      if (work_ == Work::kEffects || work_ == Work::kInbox) {
        effect_->number(1, fields.amount);
        effect_->number(2, fields.account);
        effect_->run();
      }
      ++handled;
    }
    commit_->run();
    bench::check_count(handled, count, "keys were new");
  }

 private:
  static std::unique_ptr<Prepared> prepare(SqliteConnection& connection, const char* sql) {
    return std::make_unique<Prepared>(connection, sql);
  }

  void claim_all(std::size_t count) {
    claim_begin_->run();
    const long long lease_until = now() + 60'000;
    for (std::size_t i = 0; i < count; ++i) {
      claim_->bytes(1, fields_[i].id.bytes, sizeof fields_[i].id.bytes);
      claim_->bytes(2, fields_[i].digest, 16);
      claim_->bytes(3, fields_[i].digest + 16, 16);
      claim_->number(4, lease_until);
      claim_->run();
    }
    claim_commit_->run();
  }

  void keep(const std::string& payload, long long time) {
    inbox_->text(1, std::string_view(payload).substr(7, 36));
    inbox_->number(2, time);
    inbox_->number(3, time);
    inbox_->bytes(4, payload.data(), payload.size());
    inbox_->run();
  }

  const Work work_;
  SqliteConnection connection_;
  SqliteConnection claims_;
  std::unique_ptr<Prepared> record_, effect_, inbox_, begin_, commit_;
  std::unique_ptr<Prepared> claim_, claim_begin_, claim_commit_, complete_;
  Parser parser_;
  std::vector<Fields> fields_;
};

class SqlitePlace final : public SocketDirectory {
 public:
  explicit SqlitePlace(std::string path) : path_(std::move(path)) {
    remove_files();  // A run that failed leaves them.
    SqliteConnection connection(path_, "FULL");
    connection.run("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    connection.run(
        fmt::format("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
                    "INSERT INTO account SELECT i, 0 FROM n",
                    kHotRows - 1));
  }
  ~SqlitePlace() override { remove_files(); }

  std::unique_ptr<ByHand> by_hand(Work work) const override {
    return std::make_unique<SqliteByHand>(path_, work);
  }
  std::unique_ptr<Store> open() const override {
    SqliteOptions options;
    options.path = path_;
    auto store = open_sqlite(std::move(options));
    if (!store) give_up(store.error().message);
    return std::move(*store);
  }
  std::string url() const override { return path_; }
  long long sum() const override {
    return SqliteConnection(path_, "FULL").number("SELECT sum(balance) FROM account");
  }
  std::size_t processed() const override {
    return static_cast<std::size_t>(
        SqliteConnection(path_, "FULL").number("SELECT count(*) FROM processed"));
  }

 private:
  void remove_files() const {
    std::error_code ignored;
    const std::filesystem::path file(path_);
    for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ignored)) {
      if (entry.path().string().starts_with(path_)) std::filesystem::remove(entry.path(), ignored);
    }
  }

  const std::string path_;
};

}  // namespace

std::unique_ptr<SocketDirectory> make_sqlite_place(const std::string& path) {
  return std::make_unique<SqlitePlace>(path);
}

}  // namespace semel::bench
