// The database that payments of a broker go into: accounts, and a table of effects that are
// numbered as they happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/server_test_bed.h"

namespace semel::test {

enum class DatabaseKind { kSqlite, kPostgres };
inline std::string name_of_ground(DatabaseKind database_kind) {
  return database_kind == DatabaseKind::kSqlite ? "Sqlite" : "Postgres";
}

// The handler of a payment: its account, and a row of the table `effect`.
inline constexpr const char* kPaymentHandler =
    "    handler:\n"
    "      sql:\n"
    "        params: { id: json:/id, account: json:/account, amount: json:/amount }\n"
    "        statements:\n"
    "          - sql: UPDATE account SET balance = balance + :amount WHERE id = :account\n"
    "            expect_rows: 1\n"
    "          - INSERT INTO effect (id) VALUES (:id)\n";

class GroundTestBed {
 public:
  // `consumer`: as TestBed takes it.
  GroundTestBed(DatabaseKind database_kind, const std::string& consumer);

  std::string config() const;
  std::size_t config_lines() const;
  Ran semel(Words words) const;
  void sql(const std::string& text) const;
  std::int64_t number(const std::string& query) const;
  std::int64_t sum() const { return number("SELECT COALESCE(sum(balance), 0) FROM account"); }
  // The number of the last one; no others are missing while nothing was undone.
  std::int64_t last_effect() const { return number("SELECT COALESCE(max(place), 0) FROM effect"); }
  // So many payments, that come to `sum_of_all`, have had one effect each.
  void expect_each_once(std::size_t payments, std::int64_t sum_of_all) const;

 private:
  std::optional<TestBed> sqlite_;
  std::unique_ptr<ServerTestBed> postgres_;
};

}  // namespace semel::test
