#include "stores/sql/run_rows.h"

#include <algorithm>

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
      mark_died(dialect, "UPDATE semel_run SET died = ?2 WHERE instance = ?1"),
      died(dialect,
           "SELECT instance, in_flight FROM semel_run WHERE consumer = ?1 AND died "
           "ORDER BY instance FOR UPDATE"),
      first_crash(dialect,
                  "INSERT INTO semel_crash (id, crashes, last_at) VALUES (?1, 0, ?2) "
                  "ON CONFLICT (id) DO NOTHING"),
      next_crash(dialect,
                 "UPDATE semel_crash SET crashes = crashes + 1, last_at = ?2 WHERE id = ?1"),
      crashes(dialect, "SELECT crashes FROM semel_crash WHERE id = ?1"),
      set_crashes(dialect, "UPDATE semel_crash SET crashes = ?2 WHERE id = ?1"),
      forget_crash(dialect, "DELETE FROM semel_crash WHERE id = ?1"),
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

// One row at a time: what is marked meanwhile was not read, and waits for the next.
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

int RunRows::count_crash(const KeyId& id, StoreTime now) {
  statements_.queue(texts_.first_crash, {id, now});
  statements_.queue(texts_.next_crash, {id, now});
  Answer answer = statements_.ask(texts_.crashes, {id});
  return answer.next() ? answer.small(0) : 0;
}

void RunRows::set_crashes(const KeyId& id, int crashes) {
  if (crashes == 0) {
    statements_.queue(texts_.forget_crash, {id});
  } else {
    statements_.queue(texts_.set_crashes, {id, static_cast<std::int64_t>(crashes)});
  }
}

void RunRows::forget_crashes_before(StoreTime time) {
  statements_.queue(texts_.forget_old, {time});
}

}  // namespace semel::sql
