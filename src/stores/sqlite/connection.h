// Connection: an SQLite connection of our own, or one that a caller lends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "stores/sql/database.h"
#include "stores/sqlite/failure.h"
#include "stores/sqlite/prepared.h"
#include "stores/sqlite/wait_budget.h"

struct sqlite3;
struct sqlite3_stmt;

namespace semel::sqlite {

using sql::Sync;

struct ConnectionOptions {
  std::string path;
  std::string vfs;
  std::size_t cache_bytes = 0;
  bool make = false;       // create the file where it is missing
  bool only_look = false;  // refuse writes
  bool own_checkpoints = false;
  bool foreign_keys = true;  // enforced
  // For the opening itself: a process that is closing the file locks all of it for a moment.
  std::chrono::milliseconds patience{0};
};

// One thread at a time.
class Connection final : public sql::Statements {
 public:
  // Opens a file. Throws Failure.
  explicit Connection(const ConnectionOptions& options);
  // Borrows: nothing of the connection is changed, and it is not closed.
  explicit Connection(sqlite3* borrowed);
  ~Connection() override;

  sqlite3* handle() const noexcept { return handle_; }
  const std::string& path() const noexcept { return path_; }
  bool borrowed() const noexcept { return borrowed_; }

  // Throws Failure; a prepared statement lives as long as the connection.
  sqlite3_stmt* prepare(std::string_view sql);
  void execute(const char* sql);
  // The first column of the first row, as text; empty where there is none.
  std::string ask(const char* sql);
  // A shared statement also stays prepared. A queued one runs immediately.
  sql::Answer ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) override;
  void queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) override;

  // Ends a transaction, whatever its state.
  void roll_back() noexcept;

  std::int64_t changes() const noexcept;
  std::int64_t last_row() const noexcept;
  bool in_transaction() const noexcept;
  bool read_only() const noexcept;
  void set_sync(Sync sync);
  // Whether there are rows whose parents are still missing: a commit would fail.
  bool misses_parents() const noexcept;
  // Sets how long statements wait for a lock from now on.
  void set_patience(std::chrono::milliseconds patience) noexcept {
    patience_ = WaitBudget(patience);
  }

  // The error for `code`, the result of the last call, with SQLite's own message.
  Failure failure_now(int code) const;
  [[noreturn]] void raise(int code) const { throw failure_now(code); }

  // While it lives, statements are compiled and run with a handler's rights: no transaction
  // control, no DDL, no PRAGMA, no ATTACH, no writes to Semel's tables, not even by a trigger.
  class HandlerRights {
   public:
    explicit HandlerRights(Connection& connection) noexcept : connection_(connection) {
      connection_.handler_ = true;
    }
    ~HandlerRights() { connection_.handler_ = false; }
    HandlerRights(const HandlerRights&) = delete;
    HandlerRights& operator=(const HandlerRights&) = delete;

   private:
    Connection& connection_;
  };

 private:
  static int on_busy(void* self, int calls) noexcept;
  static int authorize(void* self, int action, const char* first, const char* second,
                       const char* database, const char* trigger) noexcept;
  void configure(const ConnectionOptions& options);
  Prepared& ready(const sql::SqlText& text, std::initializer_list<sql::Param> params);

  sqlite3* handle_ = nullptr;
  std::string path_;
  bool borrowed_ = false;
  bool handler_ = false;
  Sync sync_ = Sync::kPowerLoss;
  WaitBudget patience_{std::chrono::milliseconds(0)};
  std::unordered_map<const sql::SqlText*, Prepared> shared_;
};

}  // namespace semel::sqlite
