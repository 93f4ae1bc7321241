// Database: the demo's own access to the tables, on a connection that no code of Semel uses.
//
// The ledger that judges Semel must not pass through Semel.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace semel::cli::demo {

// Throws SemelError on every failure.
class Database {
 public:
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql);
  // The first column of the first row, 0 where it is NULL.
  std::int64_t number(const std::string& sql);

 private:
  sqlite3* connection_ = nullptr;
};

// Holds the database's write lock: others may read but not write. The destructor releases it.
class WriteLock {
 public:
  explicit WriteLock(Database& database);
  ~WriteLock();
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  Database& database_;
};

}  // namespace semel::cli::demo
