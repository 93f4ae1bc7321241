// Database: where a scene's store and its business tables are. Which kind it is, is linked
// (CMakeLists.txt).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <semel/store.h>

#include "tests/support/temp_dir.h"

namespace semel::test {

class Database {
 public:
  using Rows = std::vector<std::vector<std::string>>;
  virtual ~Database() = default;

  // The worker's first argument.
  virtual std::string place() const = 0;
  virtual std::unique_ptr<Store> open() const = 0;
  // By the way that the workers go.
  virtual std::unique_ptr<Store> open_at_place() const { return open(); }
  // By the database's own client: the account must not pass through what is on trial.
  virtual Rows rows(const std::string& sql) const = 0;
  // The type of a column that numbers rows as they are inserted.
  virtual std::string numbering() const = 0;
  // What makes INSERT INTO state(name, n) change the row that is there.
  virtual std::string upsert() const { return "ON CONFLICT(name) DO UPDATE SET n = excluded.n"; }
  // SELECT: key and reason of each.
  virtual std::string dead_letters() const = 0;
};

// An empty one, for this test alone.
std::unique_ptr<Database> make_database(const TempDir& folder);

// So many of a test's rounds are enough where each costs more: 1 of `share_of_rounds()`.
std::size_t share_of_rounds();

}  // namespace semel::test
