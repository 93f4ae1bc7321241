// WriterQueue: orders the writes of the Semel processes on one database.
//
// SQLite's own lock goes to the process that asks at the right moment: a busy process starves the
// others. Here a process first takes the gate, then the turn, then leaves the gate. A process that
// waits for the turn holds the gate, so the process that just wrote cannot overtake it.
#pragma once

#include "stores/sqlite/side_file.h"
#include "stores/sqlite/wait_budget.h"

namespace semel::sqlite {

// One thread at a time.
class WriterQueue {
 public:
  explicit WriterQueue(const std::string& path) : file_(path) {}

  // False where the patience ran out; `patience` keeps the rest.
  bool enter(WaitBudget::Duration& patience);
  void leave() noexcept;
  // The process that has the turn, or had it last.
  std::int64_t holder() const noexcept { return file_.holder(); }

 private:
  SideFile file_;
};

}  // namespace semel::sqlite
