// Purge: forgets what is past its ttl, whole generations at a time.
#pragma once

#include <optional>

#include <semel/store.h>

#include "stores/postgres/core.h"
#include "stores/sql/purge.h"

namespace semel::postgres {

// One caller at a time.
class Purge {
 public:
  explicit Purge(Core& core);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  void seal_old(Connection& connection, StoreTime now);
  // How many records were forgotten. What cannot go yet is left for another time.
  std::size_t drop(Connection& connection, const Generation& old, StoreTime now,
                   sql::PurgeBudget& budget);
  bool remove_inbox(Connection& connection, const Generation& old, StoreTime before,
                    sql::PurgeBudget& budget);
  // How many of the others it took away.
  std::size_t keep_late(Connection& connection, const Generation& old, StoreTime before);

  Core& core_;
  const sql::Text remove_inbox_;
  sql::PurgeClock clock_;
};

}  // namespace semel::postgres
