#include "stores/sql/purge.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

// Clocks of one machine drift and are set by seconds; a larger jump is a mistake.
constexpr milliseconds kTolerance = std::chrono::minutes(5);
// After a longer time without use, a clock that differs by that much may be wrong as well.
constexpr milliseconds kLongAway = std::chrono::hours(24 * 90);
// Time for the clock to be set right after a jump.
constexpr milliseconds kDoubt = std::chrono::minutes(10);
// How many rows one transaction removes.
constexpr int kPart = 500;
// A crash count that was not read for this long belongs to a message that ended otherwise.
constexpr milliseconds kCrashMemory = std::chrono::hours(24 * 30);

// Forgets dead records past their consumers' ttl, in transactions of their own; returns how many.
std::size_t forget_dead(Session& session, Tables& tables, StoreTime now, milliseconds patience,
                        PurgeBudget& budget) {
  std::size_t forgotten = 0;
  for (const ConsumerRow& consumer : tables.consumers.all()) {
    if (!consumer.ttl) continue;
    KeyId behind;
    for (;;) {
      if (budget.ended()) return forgotten;
      auto dead = tables.records.dead_before(consumer.number, now - *consumer.ttl, behind, kPart);
      if (dead.empty()) break;
      behind = dead.back().id;
      tables.dead_letters.spare_replayable(dead);
      if (dead.empty()) continue;
      session.begin(patience);
      // Its ttl may be longer by now.
      if (tables.consumers.ttl(consumer.number) != consumer.ttl) {
        session.roll_back();
        break;
      }
      for (const auto& [id, key, fingerprint, steps] : dead) {
        // It may have been replayed meanwhile.
        const auto row = tables.records.find(id, Lock::kForUpdate);
        if (!row || row->record.state != RecordState::kDead) continue;
        if (row->inbox) tables.inbox.remove(*row->inbox);
        tables.records.erase(id);
        tables.steps.forget(id);
        ++forgotten;
      }
      session.commit();
    }
  }
  return forgotten;
}

}  // namespace

PurgeClock::PurgeClock(const Dialect& dialect, Clock& clock)
    : seen_(dialect, "SELECT clock_seen, clock_doubted FROM semel_meta FOR UPDATE"),
      set_seen_(dialect, "UPDATE semel_meta SET clock_seen = ?1, clock_doubted = ?2"),
      clock_(clock),
      last_elapsed_(clock.elapsed()) {}

StoreTime PurgeClock::check(Session& session, milliseconds patience) {
  session.begin(patience);
  Answer row = session.ask(seen_, {});
  row.next();
  const StoreTime seen = row.time(0);
  StoreTime doubted = row.time(1);
  const StoreTime now = session.now();
  const auto elapsed = clock_.elapsed();
  const auto passed = std::chrono::duration_cast<milliseconds>(elapsed - last_elapsed_);
  const milliseconds jumped = last_now_ ? (now - *last_now_) - passed : milliseconds(0);
  last_now_ = now;
  last_elapsed_ = elapsed;
  const bool used_before = seen != StoreTime{};
  const bool back = used_before && now < seen - kTolerance;
  const bool far_ahead = used_before && now > seen + kLongAway;
  if (jumped > kTolerance || jumped < -kTolerance || back || far_ahead) doubted = now;
  session.queue(set_seen_, {back ? seen : now, doubted});
  session.commit();
  if (doubted == StoreTime{} || (now >= doubted + kDoubt && !back)) return now;
  fail({ErrorKind::kUnavailable, "R211",
        "the server's clock jumped since the last purge: nothing is forgotten by a clock that may "
        "be wrong",
        "check the server's clock; where it is right, the purge goes on by itself in a while"});
}

StepSweep::StepSweep(const Dialect& dialect)
    // Found without a lock. The CASE keeps a server from reading its index of open records whole.
    : look_(dialect,
            "SELECT page.record, (SELECT count(*) FROM semel_record AS r WHERE r.id = page.record "
            "AND CASE r.state WHEN 'completed' THEN 0 ELSE 1 END = 1) FROM (SELECT DISTINCT "
            "record FROM semel_step WHERE record > ?1 ORDER BY record LIMIT ?2) AS page "
            "ORDER BY page.record") {}

std::optional<StoreTime> StepSweep::run(Session& session, StoreTime now, milliseconds patience,
                                        PurgeBudget& budget, const Erase& erase) {
  // The clock went back by less than a jump.
  if (covered_ && now < *covered_) covered_.reset();
  if (began_ && now < *began_) began_.reset();
  if (std::exchange(rest_, false) && covered_) return covered_;
  while (!budget.ended()) {
    if (!began_) {
      began_ = now;
      behind_ = {};
    }
    if (turn(session, patience, budget, erase)) continue;
    covered_ = std::exchange(began_, std::nullopt);
    return covered_;
  }
  return std::nullopt;
}

// False where no journal is left.
bool StepSweep::turn(Session& session, milliseconds patience, PurgeBudget& budget,
                     const Erase& erase) {
  std::vector<KeyId> left;
  std::size_t seen = 0;
  KeyId last = behind_;
  Answer page = session.ask(look_, {behind_, kPart});
  for (; page.next(); ++seen) {
    last = page.key_id(0);
    if (page.integer(1) == 0) left.push_back(last);
  }
  const bool over = seen < static_cast<std::size_t>(kPart);
  if (!left.empty()) {
    session.begin(patience);
    erase(left);
    session.commit();
  } else if (over) {
    budget.found_nothing();
  }
  behind_ = last;
  return !over;
}

ServerPurge::ServerPurge(const StoreContext& context, const Dialect& dialect, Clock& clock)
    : context_(context), process_clock_(clock), steps_(dialect), clock_(dialect, clock) {}

PurgeReport ServerPurge::run(milliseconds whole) {
  PurgeBudget budget(process_clock_, whole);
  PooledSession lent(context_.pool);
  try {
    return run_on(*lent, budget);
  } catch (...) {
    lent->roll_back();
    throw;
  }
}

PurgeReport ServerPurge::run_on(Session& session, PurgeBudget& budget) {
  const milliseconds patience = context_.pool.patience();
  const StoreTime now = clock_.check(session, patience);
  Tables tables = context_.tables(session);
  const auto covered =
      steps_.run(session, now, patience, budget,
                 [&](std::span<const KeyId> records) { erase_journals(session, records); });
  // Without it the budget is over.
  const StoreTime before = covered.value_or(now);
  PurgeReport report;
  report.records = forget_completed(session, tables, {now, before}, budget);
  if (!budget.more()) report.records += forget_dead(session, tables, before, patience, budget);
  if (!budget.more()) forget_others(session, budget);
  report.more = budget.more();
  steps_.leave_rest(covered && report.more);
  session.begin(patience);
  tables.runs.forget_crashes_before(now - kCrashMemory);
  session.commit();
  return report;
}

}  // namespace semel::sql
