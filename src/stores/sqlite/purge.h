// Purge: forgets records past their ttl, whole tables at a time.
#pragma once

#include <optional>
#include <vector>

#include <semel/spi/store.h>

#include "stores/sqlite/store_context.h"

namespace semel::sqlite {

// One caller at a time.
class Purge {
 public:
  explicit Purge(StoreContext& context);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  class Budget;
  // The time by which this run forgets: a later reading of the clock was not checked. Throws where
  // it jumped.
  StoreTime check_clock();
  void seal_old();
  // How many records were dropped with the next table that is past its ttl; nullopt where there is
  // no such table, or where the budget ended before it could be dropped.
  std::optional<std::size_t> drop_next(StoreTime now, Budget& budget);
  bool remove_details(std::int64_t generation, StoreTime now, Budget& budget);
  // False where the table is gone, or is kept longer by now.
  bool remove_details(std::int64_t generation, const std::vector<KeyId>& ids, StoreTime now);
  std::size_t forget_dead(StoreTime now, Budget& budget);

  StoreContext& context_;
  StoreTime last_now_;
  std::chrono::nanoseconds last_elapsed_;
};

}  // namespace semel::sqlite
