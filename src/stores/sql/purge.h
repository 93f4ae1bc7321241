// Shared by the purges of all servers.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <semel/environment.h>

#include "stores/sql/tables.h"

namespace semel::sql {

class PurgeBudget {
 public:
  PurgeBudget(Clock& clock, std::chrono::milliseconds whole)
      : clock_(clock), whole_(whole), end_(clock.now() + whole) {}
  // True once it is used up.
  bool ended() {
    const auto now = clock_.now();
    if (std::exchange(found_nothing_, false) && now >= end_) end_ = now + whole_;
    more_ = more_ || now >= end_;
    return more_;
  }
  void leave_rest() noexcept { more_ = true; }
  // A look has found nothing. Where it took all of the time, what comes after has as much again.
  void found_nothing() noexcept { found_nothing_ = true; }
  bool more() const noexcept { return more_; }

 private:
  Clock& clock_;
  const std::chrono::milliseconds whole_;
  std::chrono::steady_clock::time_point end_;
  bool found_nothing_ = false;
  bool more_ = false;
};

// The server's clock, which a purge must not follow when it jumps. One caller at a time.
class PurgeClock {
 public:
  PurgeClock(const Dialect& dialect, Clock& clock);

  // The current time; throws R211 where the clock jumped. In a transaction of its own.
  StoreTime check(Session& session, std::chrono::milliseconds patience);

 private:
  const SqlText seen_;
  const SqlText set_seen_;
  Clock& clock_;
  std::optional<StoreTime> last_now_;
  std::chrono::steady_clock::time_point last_steady_;
};

// Removes the journals of records that are completed or gone, in transactions of its own. Call it
// before any record is forgotten: a journal that outlives its record would apply to the next one of
// that key. If the budget ends first, no record may be forgotten.
void forget_steps(Session& session, Tables& tables, std::chrono::milliseconds patience,
                  PurgeBudget& budget);

// Forgets dead records past their consumers' ttl, in transactions of their own; returns how many.
std::size_t forget_dead(Session& session, Tables& tables, StoreTime now,
                        std::chrono::milliseconds patience, PurgeBudget& budget);
// Queues the removal of crash counts that were not read for long.
void forget_crashes(Tables& tables, StoreTime now);

}  // namespace semel::sql
