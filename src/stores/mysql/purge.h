// Purge: forgets records past their ttl, in small parts.
#pragma once

#include <semel/spi/store.h>

#include "stores/mysql/store_context.h"
#include "stores/mysql/sweep.h"
#include "stores/sql/purge.h"

namespace semel::mysql {

// One caller at a time.
class Purge {
 public:
  explicit Purge(StoreContext& context);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  std::size_t forget_completed(Connection& connection, sql::Tables& tables, StoreTime now,
                               sql::PurgeBudget& budget);
  // The names of locks.
  void forget_names(Connection& connection, sql::PurgeBudget& budget);

  StoreContext& context_;
  Sweep sweep_;
  sql::StepSweep steps_;
  std::size_t turn_ = 0;
  sql::PurgeClock clock_;
};

}  // namespace semel::mysql
