#include "stores/sql/run_rows.h"

#include <algorithm>
#include <unordered_map>

#include "stores/sql/many.h"

namespace semel::sql {

RunTexts::RunTexts(const Dialect& dialect)
    : claim_instance(dialect,
                     "SELECT number FROM semel_instance WHERE number = ?1 FOR UPDATE SKIP LOCKED"),
      await_instance(dialect, "SELECT number FROM semel_instance WHERE number = ?1 FOR UPDATE"),
      remove_instance(dialect, "DELETE FROM semel_instance WHERE number = ?1"),
      running(dialect,
              "SELECT i.number, i.pid, r.consumer FROM semel_instance i JOIN semel_run r "
              "ON r.instance = i.number ORDER BY i.number, r.consumer"),
      add(dialect,
          "INSERT INTO semel_run (instance, consumer, in_flight, started_at, died) "
          "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (instance, consumer) DO UPDATE SET "
          "in_flight = excluded.in_flight, started_at = excluded.started_at, "
          "died = excluded.died"),
      remove(dialect, "DELETE FROM semel_run WHERE instance = ?1 AND consumer = ?2"),
      window(dialect, "SELECT in_flight FROM semel_run WHERE instance = ?1 AND consumer = ?2"),
      mark_died(dialect, "UPDATE semel_run SET died = ?2 WHERE instance = ?1"),
      died(dialect,
           "SELECT instance, in_flight FROM semel_run WHERE consumer = ?1 AND died "
           "ORDER BY instance FOR UPDATE"),
      crashes(dialect, "SELECT id, crashes FROM semel_crash WHERE id IN " + list()),
      first_crash(dialect,
                  "INSERT INTO semel_crash (id, crashes, last_at) VALUES (?1, ?2, ?3) "
                  "ON CONFLICT (id) DO NOTHING"),
      change_crashes(dialect,
                     "UPDATE semel_crash SET crashes = ?4, last_at = ?5 "
                     "WHERE id = ?1 AND crashes >= ?2 AND crashes <= ?3"),
      forget_crashes(dialect,
                     "DELETE FROM semel_crash WHERE id = ?1 AND crashes >= ?2 AND crashes <= ?3"),
      forget_old(dialect, "DELETE FROM semel_crash WHERE last_at < ?1") {}

bool RunRows::claim_instance(std::int64_t number) {
  return statements_.ask(texts_.claim_instance, {number}).next();
}

bool RunRows::await_instance(std::int64_t number) {
  return statements_.ask(texts_.await_instance, {number}).next();
}

void RunRows::remove_instance(std::int64_t number) {
  statements_.queue(texts_.remove_instance, {number});
}

std::vector<RunRow> RunRows::running() {
  std::vector<RunRow> rows;
  Answer answer = statements_.ask(texts_.running, {});
  while (answer.next()) {
    rows.push_back({{answer.integer(0), answer.integer(1)}, answer.consumer(2)});
  }
  return rows;
}

void RunRows::add_run(std::int64_t instance, ConsumerNumber consumer, std::size_t window,
                      StoreTime now) {
  statements_.queue(texts_.add, {instance, consumer, window, now, false});
}

void RunRows::remove_run(std::int64_t instance, ConsumerNumber consumer) {
  statements_.queue(texts_.remove, {instance, consumer});
}

std::size_t RunRows::mark_died(std::int64_t instance) {
  return statements_.ask(texts_.mark_died, {instance, true}).changed();
}

// One row at a time: rows that are marked meanwhile were not read, and wait for the next call.
RunRows::Died RunRows::take_died(ConsumerNumber consumer) {
  Died died;
  Answer answer = statements_.ask(texts_.died, {consumer});
  while (answer.next()) {
    died.any = true;
    died.window = std::max(died.window, static_cast<std::size_t>(answer.integer(1)));
    remove_run(answer.integer(0), consumer);
  }
  return died;
}

std::optional<std::size_t> RunRows::window(std::int64_t instance, ConsumerNumber consumer) {
  Answer answer = statements_.ask(texts_.window, {instance, consumer});
  if (!answer.next()) return std::nullopt;
  return static_cast<std::size_t>(answer.integer(0));
}

std::vector<int> RunRows::crashes(std::span<const KeyId> ids) {
  std::unordered_map<KeyId, int> kept;
  in_parts(ids, [&](std::span<const KeyId> part) {
    Answer answer = ask_many(statements_, texts_.crashes, part);
    while (answer.next()) kept[answer.key_id(0)] = static_cast<int>(answer.integer(1));
  });
  std::vector<int> crashes;
  crashes.reserve(ids.size());
  for (const KeyId& id : ids) {
    const auto found = kept.find(id);
    crashes.push_back(found == kept.end() ? 0 : found->second);
  }
  return crashes;
}

void RunRows::change_crashes(const CrashChange& change, StoreTime now) {
  const std::int64_t from = change.from;
  const std::int64_t highest = change.highest;
  const std::int64_t to = change.to;
  if (from == 0) {
    if (to != 0) statements_.queue(texts_.first_crash, {change.key, to, now});
  } else if (to == 0) {
    statements_.queue(texts_.forget_crashes, {change.key, from, highest});
  } else {
    statements_.queue(texts_.change_crashes, {change.key, from, highest, to, now});
  }
}

void RunRows::forget_crashes_before(StoreTime time) {
  statements_.queue(texts_.forget_old, {time});
}

}  // namespace semel::sql
