#include "stores/postgres/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// How many rows one transaction takes away.
constexpr int kPart = 500;
// A generation is of this share of its ttl: so many are looked into by a claim.
constexpr int kGenerationsInTtl = 8;
// How long the writers of a generation may keep it from being sealed or dropped, and all that come
// behind wait with it.
constexpr milliseconds kPatience{250};

}  // namespace

Purge::Purge(Core& core)
    : core_(core),
      remove_inbox_(core.dialect, "DELETE FROM semel_inbox WHERE row_id = ANY(?1)"),
      clock_(core.dialect, *core.environment.clock) {}

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
                         sql::PurgeBudget& budget) {
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
  // Rows are locked, there and here, in the order of their keys, as claims lock them.
  const std::string move = fmt::format(
      "WITH late AS MATERIALIZED (SELECT id AS key FROM {0} "
      "WHERE changed_at >= ?1 OR state <> 'completed' ORDER BY id FOR UPDATE), "
      "gone AS (DELETE FROM {0} USING late WHERE id = late.key RETURNING {2}), "
      "kept AS (INSERT INTO {1} (generation, {2}) SELECT {3}, {2} FROM gone "
      "WHERE changed_at >= ?1 OR state <> 'dead' ORDER BY id RETURNING 1) "
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
                        sql::PurgeBudget& budget) {
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

PurgeReport Purge::run(milliseconds whole) {
  sql::PurgeBudget budget(*core_.environment.clock, whole);
  sql::Lent lent(core_.pool);
  auto& connection = static_cast<Connection&>(*lent);
  try {
    const StoreTime now = clock_.check(connection, core_.pool.patience());
    sql::Tables tables = core_.shared.tables(connection);
    sql::forget_steps(connection, tables, core_.pool.patience());
    seal_old(connection, now);
    PurgeReport report;
    for (const Generation& one : core_.generations.look(connection).all) {
      if (one.active || !one.ttl || !one.sealed_at || *one.sealed_at + *one.ttl > now) continue;
      if (budget.ended()) break;
      report.records += drop(connection, one, now, budget);
    }
    if (!budget.more()) {
      report.records += sql::forget_dead(connection, tables, now, core_.pool.patience(), budget);
    }
    report.more = budget.more();
    sql::forget_crashes(tables, now);
    connection.settle();
    return report;
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

}  // namespace semel::postgres
