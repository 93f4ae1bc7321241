// Purge: forgets what is past its ttl, whole generations at a time.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>

#include <semel/spi/store.h>

#include "stores/postgres/core.h"
#include "stores/sql/purge.h"

namespace semel::postgres {

// One caller at a time.
class Purge {
 public:
  explicit Purge(Core& core);

  PurgeReport run(std::chrono::milliseconds budget);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  // One that is past its ttl.
  struct Old {
    std::int64_t number;
    std::int64_t heir;     // takes what is not past it
    std::int64_t version;  // with another its ttl may be another
    StoreTime before;      // what was finished earlier is forgotten
  };
  // Somebody used it for longer than it may be waited for.
  struct Blocked {
    SteadyTime until{};
    std::chrono::milliseconds wait{0};
  };

  bool waits(std::int64_t generation) const;
  void put_off(std::int64_t generation);
  void seal_old(Connection& connection, StoreTime now);
  // How many records were forgotten. What cannot go yet is left for another time.
  std::size_t drop(Connection& connection, std::int64_t number, StoreTime now,
                   sql::PurgeBudget& budget);
  // Nullopt where another process has dropped it, or keeps it for longer by now.
  std::optional<Old> look_again(Connection& connection, std::int64_t number, StoreTime now);
  bool remove_inbox(Connection& connection, const Old& old, sql::PurgeBudget& budget);
  // In small parts; false where the budget ended first. Adds those of the others that it took away.
  bool keep_late(Connection& connection, const Old& old, sql::PurgeBudget& budget,
                 std::size_t& forgotten);

  Core& core_;
  const sql::Text remove_inbox_;
  sql::PurgeClock clock_;
  std::map<std::int64_t, Blocked> blocked_;  // by their numbers
  std::set<std::int64_t> begun_;             // nobody kept them then
};

}  // namespace semel::postgres
