// Purge: forgets records past their ttl, whole generations at a time.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "stores/postgres/store_context.h"
#include "stores/sql/purge.h"

namespace semel::postgres {

// One caller at a time.
class Purge final : public sql::ServerPurge {
 public:
  explicit Purge(StoreContext& context);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  // A generation that is past its ttl.
  struct Old {
    std::int64_t number;
    std::int64_t heir;     // takes records that are not past it
    std::int64_t version;  // a changed version may mean a changed ttl
    StoreTime before;      // records finished earlier are forgotten
  };
  // Another session used it for longer than the purge may wait.
  struct Blocked {
    SteadyTime until{};
    std::chrono::milliseconds wait{0};
  };

  void erase_journals(sql::Session& session, std::span<const KeyId> records) override;
  std::size_t forget_completed(sql::Session& session, sql::Tables& tables, Times times,
                               sql::PurgeBudget& budget) override;

  bool waits(std::int64_t generation) const;
  void put_off(std::int64_t generation);
  void seal_old(Connection& connection, StoreTime now);
  // Returns how many records were forgotten. A generation that cannot be dropped yet is left for
  // later.
  std::size_t drop(Connection& connection, std::int64_t number, StoreTime now,
                   sql::PurgeBudget& budget);
  // nullopt where another process has dropped it, or keeps it longer by now.
  std::optional<Old> look_again(Connection& connection, std::int64_t number, StoreTime now);
  bool remove_inbox(Connection& connection, const Old& old, sql::PurgeBudget& budget);
  // In small parts; false where the budget ended first. Adds the number of removed records.
  bool keep_late(Connection& connection, const Old& old, sql::PurgeBudget& budget,
                 std::size_t& forgotten);

  StoreContext& context_;
  const sql::SqlText remove_inbox_;
  const sql::SqlText remove_steps_;
  std::map<std::int64_t, Blocked> blocked_;  // by generation number
  std::set<std::int64_t> begun_;             // were not in use then
};

}  // namespace semel::postgres
