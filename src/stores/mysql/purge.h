// Purge: forgets what is past its ttl, in small parts.
#pragma once

#include <optional>

#include <semel/store.h>

#include "stores/mysql/core.h"
#include "stores/sql/purge.h"

namespace semel::mysql {

// One caller at a time.
class Purge {
 public:
  explicit Purge(Core& core);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  std::size_t forget_completed(Connection& connection, const Generation& generation, StoreTime now,
                               sql::PurgeBudget& budget);
  std::size_t forget_part(Connection& connection, const Generation& generation, StoreTime before);

  // Of locks.
  void forget_names(Connection& connection, sql::PurgeBudget& budget);

  Core& core_;
  const sql::Text past_;
  sql::PurgeClock clock_;
};

}  // namespace semel::mysql
