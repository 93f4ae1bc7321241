// The parts of SQLite that both consumers need: a connection, and a statement that must succeed.
#pragma once

#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <string>

class Database {
 public:
  explicit Database(const char* file) {
    if (sqlite3_open(file, &connection_) != SQLITE_OK) fail();
  }
  ~Database() { sqlite3_close(connection_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] sqlite3* connection() const { return connection_; }

  // Runs a statement; `payment` is its ?1. Returns the first value of the first row, if there is
  // one.
  std::string run(const char* sql, const std::string& payment = "") {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(connection_, sql, -1, &statement, nullptr) != SQLITE_OK) fail();
    if (sqlite3_bind_parameter_count(statement) > 0) {
      sqlite3_bind_text(statement, 1, payment.data(), static_cast<int>(payment.size()),
                        SQLITE_TRANSIENT);
    }
    std::string value;
    const int answer = sqlite3_step(statement);
    if (answer == SQLITE_ROW) {
      value = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    } else if (answer != SQLITE_DONE) {
      fail();
    }
    sqlite3_finalize(statement);
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    std::fprintf(stderr, "%s\n", sqlite3_errmsg(connection_));
    std::exit(1);
  }

  sqlite3* connection_ = nullptr;
};
