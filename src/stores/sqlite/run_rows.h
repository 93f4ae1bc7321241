// RunRows: who runs, which consumers, and what crashed with them.
#pragma once

#include <optional>
#include <vector>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

struct InstanceRow {
  std::int64_t number = 0;
  std::int64_t pid = 0;
};

class RunRows {
 public:
  explicit RunRows(Connection& connection);

  std::int64_t add_instance(std::int64_t pid, StoreTime now);
  void remove_instance(std::int64_t number);
  std::vector<InstanceRow> instances();
  // The consumers that it runs, or ran.
  std::vector<ConsumerNumber> consumers_of(std::int64_t instance);

  void add_run(std::int64_t instance, ConsumerNumber consumer, std::size_t window, StoreTime now);
  void remove_run(std::int64_t instance, ConsumerNumber consumer);
  // The runs of a process that died wait for whoever begins to run their consumer next.
  std::int64_t mark_died(std::int64_t instance);
  struct Died {
    bool any = false;
    std::size_t window = 0;
  };
  Died take_died(ConsumerNumber consumer);

  int count_crash(const KeyId& id, StoreTime now);
  void set_crashes(const KeyId& id, int crashes);
  void forget_crashes_before(StoreTime time);

 private:
  Prepared add_instance_;
  Prepared remove_instance_;
  Prepared instances_;
  Prepared consumers_of_;
  Prepared add_run_;
  Prepared remove_run_;
  Prepared mark_died_;
  Prepared died_;
  Prepared remove_died_;
  Prepared count_crash_;
  Prepared set_crashes_;
  Prepared forget_crash_;
  Prepared forget_old_;
};

}  // namespace semel::sqlite
