// WriteLock: another program that does not let go of a SQLite database.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace semel::test {

// Nothing can be written to the database while it lives.
class WriteLock {
 public:
  explicit WriteLock(const std::string& database) {
    EXPECT_EQ(sqlite3_open(database.c_str(), &connection_), SQLITE_OK);
    sqlite3_busy_timeout(connection_, 30'000);
    EXPECT_EQ(sqlite3_exec(connection_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~WriteLock() { sqlite3_close(connection_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace semel::test
