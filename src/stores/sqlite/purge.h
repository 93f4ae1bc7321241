// Purge: forgets what is past its ttl, whole tables at a time.
#pragma once

#include <optional>

#include <semel/store.h>

#include "stores/sqlite/core.h"

namespace semel::sqlite {

// One caller at a time.
class Purge {
 public:
  explicit Purge(Core& core);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  class Budget;
  // Throws where the clock jumped.
  void check_clock();
  void seal_old();
  // How many records went with the next table that is past its ttl; none where there is no such
  // table, or where the budget ended before it was ready to go.
  std::optional<std::size_t> drop_next(Budget& budget);
  bool remove_details(std::int64_t generation, Budget& budget);
  std::size_t forget_dead(Budget& budget);

  Core& core_;
  StoreTime last_now_;
  std::chrono::steady_clock::time_point last_steady_;
};

}  // namespace semel::sqlite
