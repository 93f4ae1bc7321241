// RunRows: the tables of instances, of the consumers they run, and of crash counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <semel/spi/run_markers.h>

#include "stores/sql/statements.h"

namespace semel::sql {

struct InstanceRow {
  std::int64_t number = 0;
  std::int64_t pid = 0;
};

struct RunRow {
  InstanceRow instance;
  ConsumerNumber consumer{};
};

struct RunTexts {
  explicit RunTexts(const Dialect& dialect);
  SqlText claim_instance, await_instance, remove_instance, running, add, remove, window, mark_died,
      died;
  SqlText crashes, first_crash, change_crashes, forget_crashes, forget_old;
};

class RunRows {
 public:
  RunRows(Statements& statements, const RunTexts& texts) : statements_(statements), texts_(texts) {}

  // Locks the row of an instance; false where it is gone, or another transaction has it.
  bool claim_instance(std::int64_t number);
  // The same, but waits for the other transaction; false where the row is gone.
  bool await_instance(std::int64_t number);
  void remove_instance(std::int64_t number);
  // The processes that run or ran a consumer: a row for each consumer, by process number.
  std::vector<RunRow> running();

  void add_run(std::int64_t instance, ConsumerNumber consumer, std::size_t window, StoreTime now);
  void remove_run(std::int64_t instance, ConsumerNumber consumer);
  // Marks the runs of a process that died, for the next process that runs their consumer.
  std::size_t mark_died(std::int64_t instance);
  struct Died {
    bool any = false;
    std::size_t window = 0;
  };
  Died take_died(ConsumerNumber consumer);
  // The window of a run that is marked; nullopt where it is not.
  std::optional<std::size_t> window(std::int64_t instance, ConsumerNumber consumer);

  // As RunMarkers::crashes.
  std::vector<int> crashes(std::span<const KeyId> ids);
  void change_crashes(const CrashChange& change, StoreTime now);
  void forget_crashes_before(StoreTime time);

 private:
  Statements& statements_;
  const RunTexts& texts_;
};

}  // namespace semel::sql
