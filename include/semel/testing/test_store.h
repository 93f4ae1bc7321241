// TestStore: a transactional store for tests, with business tables that a test can look at.
//
//   semel::testkit::TestStore bank("CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER);"
//                                  "INSERT INTO account VALUES ('ada', 100);");
//   semel::Guard guard(bank.store(),
//                      {.consumer = "payments", .environment = &bank.environment().get()});
//   …
//   EXPECT_EQ(bank.number("SELECT balance FROM account"), 105);
//
// It is Semel's SQLite store, on a file of its own that goes with it: in memory where the system
// has a file system in memory, else in the folder for temporary files. The clock is a FakeClock, so
// a lease or a retry is over when the test says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <semel/spi/store.h>
#include <semel/statement.h>
#include <semel/testing/fake_environment.h>

namespace semel::testkit {

// One thread at a time, but for `store`. Throws SemelError.
class TestStore {
 public:
  // `tables`: SQL that makes the business tables and their rows.
  explicit TestStore(std::string tables = {});
  ~TestStore();
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  Store& store() noexcept;
  // The store's own: its clock decides what expires.
  FakeEnvironment& environment() noexcept;

  // Runs statements one after the other, as another program would, on a connection of its own; any
  // SQL is allowed. Returns the rows of the last one.
  Rows sql(std::string_view statements);
  // The first column of the first row. Throws where there is no row, or where it is no integer.
  std::int64_t number(std::string_view query);

  // Drops the business tables, views and triggers, and runs `tables` again. Records stay.
  void reset();

  const std::string& path() const noexcept;  // of the file

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel::testkit
