#include "stores/postgres/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// How many rows one transaction removes.
constexpr int kPart = 500;
// A generation covers this fraction of its ttl: a claim looks into this many.
constexpr int kGenerationsInTtl = 8;
// How long writers of a generation may delay its sealing or dropping, while later ones wait behind
// it.
constexpr milliseconds kPatience{250};
// A generation that was in use for longer is left alone for this long, and for twice as long each
// further time.
constexpr milliseconds kFirstWait = std::chrono::seconds(30);
constexpr milliseconds kLongestWait = std::chrono::minutes(15);

}  // namespace

Purge::Purge(StoreContext& context)
    : ServerPurge(context.shared, context.dialect, *context.environment.clock),
      context_(context),
      remove_inbox_(context.dialect, "DELETE FROM semel_inbox WHERE row_id = ANY(?1)"),
      // Steps and records are seen as of one moment: a step of a record that came again later is
      // not among them.
      remove_steps_(context.dialect,
                    "DELETE FROM semel_step AS s WHERE s.record = ANY(?1) AND (SELECT count(*) "
                    "FROM semel_record AS r WHERE r.id = s.record AND CASE r.state WHEN "
                    "'completed' THEN 0 ELSE 1 END = 1) = 0") {}

bool Purge::waits(std::int64_t generation) const {
  const auto blocked = blocked_.find(generation);
  return blocked != blocked_.end() && context_.environment.clock->now() < blocked->second.until;
}

void Purge::put_off(std::int64_t generation) {
  Blocked& blocked = blocked_[generation];
  blocked.wait = std::clamp(2 * blocked.wait, kFirstWait, kLongestWait);
  blocked.until = context_.environment.clock->now() + blocked.wait;
}

void Purge::erase_journals(sql::Session& session, std::span<const KeyId> records) {
  ArrayParam ids(oid::kBytea);
  for (const KeyId& id : records) ids.add(id.view());
  WireParams params;
  params.add(ids);
  static_cast<Connection&>(session).queue(remove_steps_, params);
}

void Purge::seal_old(Connection& connection, StoreTime now) {
  for (const Generation& one : context_.generations.look(connection).all) {
    if (!one.active || !one.ttl || one.created_at + *one.ttl / kGenerationsInTtl > now) continue;
    if (waits(one.number)) continue;
    const std::string any = fmt::format("SELECT 1 FROM {} LIMIT 1", partition_name(one.number));
    if (!connection.ask_once(any).next()) continue;
    try {
      context_.generations.seal(connection, one, kPatience);
      blocked_.erase(one.number);
    } catch (const sql::Failure& failed) {
      // A long transaction uses it.
      if (failed.error().kind != ErrorKind::kBlocked) throw;
      put_off(one.number);
    }
  }
}

// Removes inbox rows of a generation that is about to be dropped, in small parts. False where the
// budget ended first.
bool Purge::remove_inbox(Connection& connection, const Old& old, sql::PurgeBudget& budget) {
  const std::string look =
      (fmt::format("SELECT id, inbox FROM {} WHERE id > ?1 AND inbox IS NOT NULL AND "
                   "state IN ('completed', 'dead') AND changed_at < ?2 ORDER BY id LIMIT {}",
                   partition_name(old.number), kPart));
  KeyId last;
  for (;;) {
    sql::Answer part = connection.ask_once(look, {last, old.before});
    ArrayParam rows(oid::kInt8);
    while (part.next()) {
      last = part.key_id(0);
      rows.add(part.integer(1));
    }
    if (rows.size() == 0) return true;
    WireParams params;
    params.add(rows);
    connection.queue(remove_inbox_, params);
    connection.queue(context_.generations.guard(), {old.version});
    connection.settle();
    // After one part, however little time there is: otherwise none would ever be dropped.
    if (budget.ended()) return false;
  }
}

// Records not past their ttl are moved to the active generation. A concurrent claim of such a key
// waits for this, or this for it. Afterwards all that is left is completed, and does not change:
// dead records past their ttl are forgotten here, since they may be replayed until then; but those
// with steps, which may be needed longer.
bool Purge::keep_late(Connection& connection, const Old& old, sql::PurgeBudget& budget,
                      std::size_t& forgotten) {
  const std::string columns =
      "id, state, fingerprint, changed_at, inbox, result, token, nonce, lease_until, attempt, "
      "outcome_unknown, next_at, first_seen, holder, held, message_key, reason, error";
  // Rows are locked, in both generations, in the order of their keys, as claims lock them.
  const std::string move = fmt::format(
      "WITH late AS MATERIALIZED (SELECT id AS key FROM {0} "
      "WHERE id > ?2 AND (changed_at >= ?1 OR state <> 'completed') ORDER BY id LIMIT {4} "
      "FOR UPDATE), "
      "gone AS (DELETE FROM {0} USING late WHERE id = late.key RETURNING {2}), "
      "kept AS (INSERT INTO {1} (generation, {2}) SELECT {3}, {2} FROM gone "
      "WHERE changed_at >= ?1 OR state <> 'dead' OR EXISTS (SELECT 1 FROM semel_step AS s "
      "WHERE s.record = gone.id) ORDER BY id RETURNING 1) "
      "SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM kept), "
      "(SELECT key FROM late ORDER BY key DESC LIMIT 1)",
      partition_name(old.number), partition_name(old.heir), columns, old.heir, kPart);
  KeyId last;
  for (;;) {
    connection.queue_once(move, {old.before, last});
    connection.queue(context_.generations.guard(), {old.version});
    const auto results = connection.run();
    sql::Answer part = answer_of(results[results.size() - 2].get());
    part.next();
    forgotten += static_cast<std::size_t>(part.integer(0) - part.integer(1));
    if (part.integer(0) < kPart) return true;
    if (budget.ended()) return false;
    last = part.key_id(2);
  }
}

std::optional<Purge::Old> Purge::look_again(Connection& connection, std::int64_t number,
                                            StoreTime now) {
  const KnownGenerations known = context_.generations.look(connection);
  const auto old = std::ranges::find(known.all, number, &Generation::number);
  if (old == known.all.end() || !old->past(now)) return std::nullopt;
  const auto active = std::ranges::find_if(
      known.all, [&](const Generation& one) { return one.active && one.ttl == old->ttl; });
  if (active != known.all.end()) return Old{number, active->number, known.version, now - *old->ttl};
  context_.generations.active(connection, old->ttl);
  return look_again(connection, number, now);
}

std::size_t Purge::drop(Connection& connection, std::int64_t number, StoreTime now,
                        sql::PurgeBudget& budget) {
  std::size_t forgotten = 0;
  try {
    // Before everything is read and moved in vain while another session uses the table. Once only:
    // all later sessions wait behind it, and the work has many parts.
    if (!begun_.contains(number)) context_.generations.need_free(connection, number, kPatience);
    begun_.insert(number);
    const auto old = look_again(connection, number, now);
    if (!old || !remove_inbox(connection, *old, budget)) return forgotten;
    if (!keep_late(connection, *old, budget, forgotten)) return forgotten;
    sql::Answer counted =
        connection.ask_once(fmt::format("SELECT count(*) FROM {}", partition_name(number)));
    counted.next();
    const auto rest = static_cast<std::size_t>(counted.integer(0));
    if (context_.generations.remove(connection, number, old->version, now, kPatience)) {
      blocked_.erase(number);
      return forgotten + rest;
    }
  } catch (const sql::Failure& failed) {
    const ErrorKind kind = failed.error().kind;
    if (kind == ErrorKind::kBlocked) {
      // All later sessions wait behind one that waits for it: so the next attempt is delayed, and
      // others have their turn.
      put_off(number);
      return forgotten;
    }
    // Another process's purge did it first.
    if (kind != ErrorKind::kRetryTransaction && !Generations::moved(failed)) throw;
  }
  budget.leave_rest();
  return forgotten;
}

std::size_t Purge::forget_completed(sql::Session& session, sql::Tables&, Times times,
                                    sql::PurgeBudget& budget) {
  auto& connection = static_cast<Connection&>(session);
  seal_old(connection, times.now);
  const auto all = context_.generations.look(connection).all;
  const auto dropped = [&](std::int64_t number) {
    return std::ranges::find(all, number, &Generation::number) == all.end();
  };
  std::erase_if(blocked_, [&](const auto& blocked) { return dropped(blocked.first); });
  std::erase_if(begun_, dropped);
  std::size_t forgotten = 0;
  for (const Generation& one : all) {
    if (!one.past(times.before) || waits(one.number)) continue;
    if (budget.ended()) break;
    forgotten += drop(connection, one.number, times.before, budget);
  }
  return forgotten;
}

}  // namespace semel::postgres
