// Database: where a test bed's store and its business tables are. Which kind it is, is linked
// (CMakeLists.txt).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/store.h>

#include "tests/support/temp_dir.h"

namespace semel::test {

class SqlDatabase;

class Database {
 public:
  virtual ~Database() = default;

  // The worker's first argument.
  virtual std::string place() const = 0;
  virtual std::unique_ptr<Store> open() const = 0;
  // Opens it in the way that the workers do.
  virtual std::unique_ptr<Store> open_at_place() const { return open(); }
  // Null where it knows no SQL: there effects are counted in a ledger alone.
  virtual const SqlDatabase* sql() const { return nullptr; }

  // The number of waiting messages that the store holds.
  virtual std::size_t held() const = 0;
  // Reasons of the dead letters, by key.
  virtual std::map<std::string, std::string> dead() const = 0;
  virtual std::size_t completed() const = 0;
  // Returns when the server has seen the end of each worker that is dead, and has no more doubt of
  // it. No worker is alive.
  virtual void notice_deaths() const {}
};

class SqlDatabase : public Database {
 public:
  using Rows = std::vector<std::vector<std::string>>;

  const SqlDatabase* sql() const final { return this; }
  std::size_t held() const final;
  std::map<std::string, std::string> dead() const final;
  std::size_t completed() const override;
  void notice_deaths() const final;

  // Uses the database's own client, because the account must not pass through the code under test.
  // Repeats the SQL if the server was restarted: so it must be safe to run twice.
  virtual Rows rows(const std::string& sql) const = 0;
  // The type of a column that numbers rows as they are inserted.
  virtual std::string numbering() const = 0;
  // The clause that makes INSERT INTO state(name, n) update an existing row.
  virtual std::string upsert() const { return "ON CONFLICT(name) DO UPDATE SET n = excluded.n"; }
  // SELECT: key and reason of each.
  virtual std::string dead_letters() const = 0;
  // SELECT: how many other sessions the server has in this database. Empty: it has no server.
  virtual std::string other_sessions() const { return {}; }
};

// An empty one, for this test alone.
std::unique_ptr<Database> make_database(const TempDir& folder);

// The divisor of a test's rounds on a database where each round is expensive: 1 of
// `share_of_rounds()`.
std::size_t share_of_rounds();
// The half of the crash matrix that suffices for this database: 0 or 1; another database runs the
// other half. None: it runs all of it.
std::optional<std::size_t> half_of_matrix();
// Whether its databases know SQL.
bool has_tables();
// Whether a record, its waiting messages and its dead letter are on different servers, so that a
// finish has several steps.
bool has_steps();

}  // namespace semel::test
