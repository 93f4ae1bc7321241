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
  // How many records went with it; none where it is not ready to go yet.
  std::optional<std::size_t> drop(Connection& connection, const Generation& old, StoreTime now,
                                  sql::PurgeBudget& budget);
  bool remove_inbox(Connection& connection, const Generation& old, StoreTime before,
                    sql::PurgeBudget& budget);
  void keep_late(Connection& connection, const Generation& old, StoreTime before);

  Core& core_;
  const sql::Text remove_inbox_;
  sql::PurgeClock clock_;
};

}  // namespace semel::postgres
