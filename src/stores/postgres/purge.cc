#include "stores/postgres/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// Clocks of one machine drift and are set by seconds; nobody means a jump by more.
constexpr milliseconds kTolerance = std::chrono::minutes(5);
// A store that nobody used for longer than this may as well be met by a wrong clock.
constexpr milliseconds kLongAway = std::chrono::hours(24 * 90);
// After a jump: time for the clock to be set right.
constexpr milliseconds kDoubt = std::chrono::minutes(10);
// How many rows one transaction takes away.
constexpr int kPart = 500;
// A crash count nobody asked for since is of a message that went another way.
constexpr milliseconds kCrashMemory = std::chrono::hours(24 * 30);
// A generation is of this share of its ttl: so many are looked into by a claim.
constexpr int kGenerationsInTtl = 8;
// How long the writers of a generation may keep it from being sealed or dropped, and all that come
// behind wait with it.
constexpr milliseconds kPatience{250};

}  // namespace

class Purge::Budget {
 public:
  Budget(Clock& clock, milliseconds whole) : clock_(clock), end_(clock.now() + whole) {}
  // True once it is used up.
  bool ended() {
    more_ = more_ || clock_.now() >= end_;
    return more_;
  }
  void leave_rest() noexcept { more_ = true; }
  bool more() const noexcept { return more_; }

 private:
  Clock& clock_;
  std::chrono::steady_clock::time_point end_;
  bool more_ = false;
};

Purge::Purge(Core& core)
    : core_(core),
      seen_(core.dialect, "SELECT clock_seen, clock_doubted FROM semel_meta FOR UPDATE"),
      set_seen_(core.dialect, "UPDATE semel_meta SET clock_seen = ?1, clock_doubted = ?2"),
      remove_inbox_(core.dialect, "DELETE FROM semel_inbox WHERE row_id = ANY(?1)"),
      last_steady_(core.environment.clock->now()) {}

StoreTime Purge::check_clock(Connection& connection) {
  connection.begin(core_.pool.patience());
  sql::Answer row = connection.ask(seen_, {});
  row.next();
  const StoreTime seen = row.time(0);
  StoreTime doubted = row.time(1);
  const StoreTime now = connection.now();
  const auto steady = core_.environment.clock->now();
  const auto passed = std::chrono::duration_cast<milliseconds>(steady - last_steady_);
  const milliseconds jumped = last_now_ ? (now - *last_now_) - passed : milliseconds(0);
  last_now_ = now;
  last_steady_ = steady;
  const bool used_before = seen != StoreTime{};
  const bool back = used_before && now < seen - kTolerance;
  const bool far_ahead = used_before && now > seen + kLongAway;
  if (jumped > kTolerance || jumped < -kTolerance || back || far_ahead) doubted = now;
  connection.queue(set_seen_, {back ? seen : now, doubted});
  connection.commit();
  if (doubted == StoreTime{} || (now >= doubted + kDoubt && !back)) return now;
  sql::fail({ErrorKind::kUnavailable, "R211",
             "the server's clock jumped since the last purge: nothing is forgotten by a clock that "
             "may be wrong",
             "check the server's clock; where it is right, the purge goes on by itself in a "
             "while"});
}

void Purge::seal_old(Connection& connection, StoreTime now) {
  for (const Generation& one : core_.generations.look(connection).all) {
    if (!one.active || !one.ttl || one.created_at + *one.ttl / kGenerationsInTtl > now) continue;
    const std::string any = fmt::format("SELECT 1 FROM {} LIMIT 1", partition_name(one.number));
    if (!connection.ask_once(any).next()) continue;
    try {
      core_.generations.seal(connection, one, kPatience);
    } catch (const sql::Failure& failed) {
      // A long transaction holds it: the next purge tries again.
      if (failed.error().kind != ErrorKind::kBlocked) throw;
    }
  }
}

// Inbox rows of a generation that is about to go, in small parts. False where the budget ended
// first.
bool Purge::remove_inbox(Connection& connection, const Generation& old, StoreTime before,
                         Budget& budget) {
  const std::string look =
      (fmt::format("SELECT id, inbox FROM {} WHERE id > ?1 AND inbox IS NOT NULL AND "
                   "state IN ('completed', 'dead') AND changed_at < ?2 ORDER BY id LIMIT {}",
                   partition_name(old.number), kPart));
  KeyId last;
  for (;;) {
    sql::Answer part = connection.ask_once(look, {last, before});
    ArrayParam rows(oid::kInt8);
    while (part.next()) {
      last = part.key_id(0);
      rows.add(part.integer(1));
    }
    if (rows.size() == 0) return true;
    if (budget.ended()) return false;
    WireParams params;
    params.add(rows);
    connection.ask(remove_inbox_, params);
  }
}

// What is not past its ttl goes on in the active one. A key that is claimed there meanwhile waits
// for this, or this for it. Behind it all that is left is completed, and stays as it is: what is
// dead, and past its ttl, goes here, for it may be replayed until then.
std::size_t Purge::keep_late(Connection& connection, const Generation& old, StoreTime before) {
  const KnownGenerations known = core_.generations.look(connection);
  const auto active = std::ranges::find_if(
      known.all, [&](const Generation& one) { return one.active && one.ttl == old.ttl; });
  if (active == known.all.end()) {
    core_.generations.active(connection, old.ttl);
    return keep_late(connection, old, before);
  }
  const std::string columns =
      "id, state, fingerprint, changed_at, inbox, result, token, nonce, lease_until, attempt, "
      "outcome_unknown, next_at, first_seen, holder, held, message_key, reason, error";
  const std::string move = fmt::format(
      "WITH gone AS (DELETE FROM {0} WHERE changed_at >= ?1 OR state <> 'completed' "
      "RETURNING {2}), "
      "kept AS (INSERT INTO {1} (generation, {2}) SELECT {3}, {2} FROM gone "
      "WHERE changed_at >= ?1 OR state <> 'dead' RETURNING 1) "
      "SELECT (SELECT count(*) FROM gone) - (SELECT count(*) FROM kept)",
      partition_name(old.number), partition_name(active->number), columns, active->number);
  connection.queue_once(move, {before});
  connection.queue(core_.generations.guard(), {known.version});
  const auto results = connection.run();
  sql::Answer counted = answer_of(results[results.size() - 2].get());
  counted.next();
  return static_cast<std::size_t>(counted.integer(0));
}

std::size_t Purge::drop(Connection& connection, const Generation& old, StoreTime now,
                        Budget& budget) {
  const StoreTime before = now - *old.ttl;
  std::size_t forgotten = 0;
  try {
    if (!remove_inbox(connection, old, before, budget)) return forgotten;
    forgotten += keep_late(connection, old, before);
    sql::Answer counted =
        connection.ask_once(fmt::format("SELECT count(*) FROM {}", partition_name(old.number)));
    counted.next();
    if (core_.generations.remove(connection, old, kPatience)) {
      return forgotten + static_cast<std::size_t>(counted.integer(0));
    }
  } catch (const sql::Failure& failed) {
    // In use; or another process's purge was here first.
    const ErrorKind kind = failed.error().kind;
    const bool later = kind == ErrorKind::kBlocked || kind == ErrorKind::kRetryTransaction;
    if (!later && !Generations::moved(failed)) throw;
  }
  budget.leave_rest();
  return forgotten;
}

std::size_t Purge::forget_dead(Connection& connection, StoreTime now, Budget& budget) {
  std::size_t forgotten = 0;
  sql::Tables tables = core_.shared.tables(connection);
  for (const sql::ConsumerRow& consumer : tables.consumers.all()) {
    if (!consumer.ttl) continue;
    for (;;) {
      if (budget.ended()) return forgotten;
      const auto ids = tables.records.dead_before(consumer.number, now - *consumer.ttl, kPart);
      if (ids.empty()) break;
      connection.begin(core_.pool.patience());
      for (const KeyId& id : ids) {
        // It may have been replayed meanwhile.
        const auto row = tables.records.find(id, sql::Lock::kForUpdate);
        if (!row || row->record.state != RecordState::kDead) continue;
        if (row->inbox) tables.inbox.remove(*row->inbox);
        tables.records.erase(id);
        ++forgotten;
      }
      connection.commit();
    }
  }
  return forgotten;
}

PurgeReport Purge::run(milliseconds whole) {
  Budget budget(*core_.environment.clock, whole);
  sql::Lent lent(core_.pool);
  auto& connection = static_cast<Connection&>(*lent);
  try {
    const StoreTime now = check_clock(connection);
    seal_old(connection, now);
    PurgeReport report;
    for (const Generation& one : core_.generations.look(connection).all) {
      if (one.active || !one.ttl || !one.sealed_at || *one.sealed_at + *one.ttl > now) continue;
      if (budget.ended()) break;
      report.records += drop(connection, one, now, budget);
    }
    if (!budget.more()) report.records += forget_dead(connection, now, budget);
    report.more = budget.more();
    core_.shared.tables(connection).runs.forget_crashes_before(now - kCrashMemory);
    connection.settle();
    return report;
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

}  // namespace semel::postgres
