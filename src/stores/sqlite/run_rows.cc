#include "stores/sqlite/run_rows.h"

#include "stores/sqlite/connection.h"

namespace semel::sqlite {

RunRows::RunRows(Connection& connection)
    : add_instance_(connection, "INSERT INTO semel_instance (pid, started_at) VALUES (?1, ?2)"),
      remove_instance_(connection, "DELETE FROM semel_instance WHERE number = ?1"),
      instances_(connection, "SELECT number, pid FROM semel_instance ORDER BY number"),
      consumers_of_(connection, "SELECT consumer FROM semel_run WHERE instance = ?1"),
      add_run_(connection,
               "INSERT OR REPLACE INTO semel_run (instance, consumer, in_flight, started_at, died) "
               "VALUES (?1, ?2, ?3, ?4, 0)"),
      remove_run_(connection, "DELETE FROM semel_run WHERE instance = ?1 AND consumer = ?2"),
      mark_died_(connection, "UPDATE semel_run SET died = 1 WHERE instance = ?1"),
      died_(connection,
            "SELECT count(*), max(in_flight) FROM semel_run WHERE consumer = ?1 AND died"),
      remove_died_(connection, "DELETE FROM semel_run WHERE consumer = ?1 AND died"),
      count_crash_(connection,
                   "INSERT INTO semel_crash (id, count, last_at) VALUES (?1, 1, ?2) "
                   "ON CONFLICT (id) DO UPDATE SET count = count + 1, last_at = ?2 "
                   "RETURNING count"),
      set_crashes_(connection, "UPDATE semel_crash SET count = ?2 WHERE id = ?1"),
      forget_crash_(connection, "DELETE FROM semel_crash WHERE id = ?1"),
      forget_old_(connection, "DELETE FROM semel_crash WHERE last_at < ?1") {}

std::int64_t RunRows::add_instance(std::int64_t pid, StoreTime now) {
  return add_instance_.bind(1, pid).bind(2, now).insert();
}

void RunRows::remove_instance(std::int64_t number) { remove_instance_.bind(1, number).run(); }

std::vector<InstanceRow> RunRows::instances() {
  std::vector<InstanceRow> rows;
  const Reading reading(instances_);
  while (instances_.next()) rows.push_back({instances_.integer(0), instances_.integer(1)});
  return rows;
}

std::vector<ConsumerNumber> RunRows::consumers_of(std::int64_t instance) {
  std::vector<ConsumerNumber> consumers;
  consumers_of_.bind(1, instance);
  const Reading reading(consumers_of_);
  while (consumers_of_.next()) {
    consumers.push_back(static_cast<ConsumerNumber>(consumers_of_.integer(0)));
  }
  return consumers;
}

void RunRows::add_run(std::int64_t instance, ConsumerNumber consumer, std::size_t window,
                      StoreTime now) {
  add_run_.bind(1, instance)
      .bind(2, consumer)
      .bind(3, static_cast<std::int64_t>(window))
      .bind(4, now)
      .run();
}

void RunRows::remove_run(std::int64_t instance, ConsumerNumber consumer) {
  remove_run_.bind(1, instance).bind(2, consumer).run();
}

std::int64_t RunRows::mark_died(std::int64_t instance) {
  return mark_died_.bind(1, instance).change();
}

RunRows::Died RunRows::take_died(ConsumerNumber consumer) {
  Died died;
  died_.bind(1, consumer);
  {
    const Reading reading(died_);
    if (died_.next() && died_.integer(0) > 0) {
      died = {true, static_cast<std::size_t>(died_.integer(1))};
    }
  }
  if (died.any) remove_died_.bind(1, consumer).run();
  return died;
}

int RunRows::count_crash(const KeyId& id, StoreTime now) {
  count_crash_.bind(1, id).bind(2, now);
  int count = 0;
  while (count_crash_.next()) count = count_crash_.small(0);
  return count;
}

void RunRows::set_crashes(const KeyId& id, int crashes) {
  if (crashes == 0) {
    forget_crash_.bind(1, id).run();
  } else {
    set_crashes_.bind(1, id).bind(2, static_cast<std::int64_t>(crashes)).run();
  }
}

void RunRows::forget_crashes_before(StoreTime time) { forget_old_.bind(1, time).run(); }

}  // namespace semel::sqlite
