// TestBed: one store, its business tables, a worker to kill, and the account of the effects.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/database.h"
#include "tests/support/child_process.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_dir.h"

namespace semel::test {

class TestBed {
 public:
  TestBed();
  explicit TestBed(std::unique_ptr<Database> database);

  std::string ledger_path() const { return dir_.file("ledger"); }
  std::string file(std::string_view name) const { return dir_.file(name); }

  // Puts messages with these ids into the embedded queue of the consumer, durably.
  void send(const std::vector<std::string>& ids);
  // The same with new keys and their twins, as with_twins() numbers them.
  void send_new(std::size_t keys);
  // The number of keys that send_new() has sent.
  std::size_t sent() const noexcept { return sent_; }
  // Appends them to the file as JSON lines.
  void write_lines(const std::string& path, const std::vector<std::string>& ids);
  void add_lines(const std::string& path, const std::vector<std::string>& ids) const;

  // Starts a worker on the store. `failpoint` as SEMEL_FAILPOINT; empty: none.
  ChildProcess start(std::vector<std::string> settings, const std::string& failpoint = {}) const;
  // Runs one to its end; its exit code, or minus the signal that ended it.
  int run(std::vector<std::string> settings, const std::string& failpoint = {}) const;

  // Effects per key, from the table that the SQL and the native handler write.
  std::map<std::string, std::size_t> effects() const;
  std::map<std::string, std::size_t> effects_by_process() const;
  // The count of the handler's second statement: it must agree with the first.
  std::size_t total() const;
  // Keys in the order of their effects.
  std::vector<std::string> effects_in_order() const;
  // natural's rows: key to value.
  std::map<std::string, std::string> states() const;
  // Reasons of the dead letters, by key.
  std::map<std::string, std::string> dead() const { return database_->dead(); }
  // Rows the store still holds.
  std::size_t held() const { return database_->held(); }
  std::size_t completed() const { return database_->completed(); }
  const Database& database() const { return *database_; }
  // One value of one row. Like all functions that count rows, only for databases with SQL.
  std::string ask(const std::string& sql) const;
  void execute(const std::string& sql) const;

 private:
  std::map<std::string, std::size_t> counts(const std::string& sql) const;
  std::vector<std::vector<std::string>> rows(const std::string& sql) const;

  void make_tables();

  TempDir dir_;
  std::unique_ptr<Database> database_;
  std::size_t sent_ = 0;
};

// "m0", "m1", …, and every third once more. `first`: number of the first one.
std::vector<std::string> with_twins(std::size_t count, std::size_t first = 0);

}  // namespace semel::test
