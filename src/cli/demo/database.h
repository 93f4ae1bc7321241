// Database: the demo's own look at the tables, on a connection that no code of Semel's touches.
//
// The ledger that judges Semel must not pass through what it judges.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace semel::cli::demo {

// Every failure is thrown as SemelError.
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

// Holds the database's write lock: others may read, and nobody may write. Gone with the object.
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
