// Shared by the purges of all servers.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <semel/environment.h>
#include <semel/spi/store.h>

#include "stores/sql/store_context.h"
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
  std::chrono::nanoseconds last_elapsed_;
};

// Removes the journals of records that are completed or gone, page by page, each with one
// statement. One caller at a time.
//
// A journal that outlives its record would apply to the next one of that key: so a record may be
// forgotten only if it was completed before a pass over all journals began, and that pass has
// ended.
class StepSweep {
 public:
  // Queues one statement, in a transaction that is open: it removes the journals of those records
  // that are still completed or gone, which may have come again since they were found.
  using Erase = std::function<void(std::span<const KeyId>)>;

  explicit StepSweep(const Dialect& dialect);

  // Goes on where the last call stopped, and begins anew once it was through. Returns the time when
  // the last whole pass began; nullopt where the budget ended before there was one: then no record
  // may be forgotten. In transactions of its own, with a look before each.
  std::optional<StoreTime> run(Session& session, StoreTime now, std::chrono::milliseconds patience,
                               PurgeBudget& budget, const Erase& erase);
  // The records of the last pass were not all forgotten: the next call begins no other pass.
  void leave_rest(bool rest) noexcept { rest_ = rest; }

 private:
  bool turn(Session& session, std::chrono::milliseconds patience, PurgeBudget& budget,
            const Erase& erase);

  const SqlText look_;
  KeyId behind_;                      // the last record that this pass has looked at
  std::optional<StoreTime> began_;    // this pass
  std::optional<StoreTime> covered_;  // when the last whole one began
  bool rest_ = false;
};

// Store::purge on a server: the order that all servers have. Each step is in transactions of its
// own. One caller at a time; throws Failure.
class ServerPurge {
 public:
  // Both outlive it.
  ServerPurge(const StoreContext& context, const Dialect& dialect, Clock& clock);
  virtual ~ServerPurge() = default;
  ServerPurge(const ServerPurge&) = delete;
  ServerPurge& operator=(const ServerPurge&) = delete;

  PurgeReport run(std::chrono::milliseconds whole);

 protected:
  struct Times {
    StoreTime now;
    StoreTime before;  // only records that were completed earlier have no journal
  };

  // A StepSweep::Erase.
  virtual void erase_journals(Session& session, std::span<const KeyId> records) = 0;
  // Forgets completed records past their consumers' ttl; returns how many.
  virtual std::size_t forget_completed(Session& session, Tables& tables, Times times,
                                       PurgeBudget& budget) = 0;
  // Removes what else is not needed any more, where there is time left.
  virtual void forget_others(Session& session, PurgeBudget& budget) {
    static_cast<void>(session);
    static_cast<void>(budget);
  }

 private:
  PurgeReport run_on(Session& session, PurgeBudget& budget);

  const StoreContext& context_;
  Clock& process_clock_;
  StepSweep steps_;
  PurgeClock clock_;
};

}  // namespace semel::sql
