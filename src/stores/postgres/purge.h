// Purge: forgets what is past its ttl, whole generations at a time.
#pragma once

#include <optional>

#include <semel/store.h>

#include "stores/postgres/core.h"

namespace semel::postgres {

// One caller at a time.
class Purge {
 public:
  explicit Purge(Core& core);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  class Budget;
  // Throws where the clock jumped. The server's clock as it is.
  StoreTime check_clock(Connection& connection);
  void seal_old(Connection& connection, StoreTime now);
  // How many records were forgotten. What cannot go yet is left for another time.
  std::size_t drop(Connection& connection, const Generation& old, StoreTime now, Budget& budget);
  bool remove_inbox(Connection& connection, const Generation& old, StoreTime before,
                    Budget& budget);
  // How many of the others it took away.
  std::size_t keep_late(Connection& connection, const Generation& old, StoreTime before);
  std::size_t forget_dead(Connection& connection, StoreTime now, Budget& budget);

  Core& core_;
  const sql::Text seen_;
  const sql::Text set_seen_;
  const sql::Text remove_inbox_;
  std::optional<StoreTime> last_now_;
  std::chrono::steady_clock::time_point last_steady_;
};

}  // namespace semel::postgres
