// StatementRun: the deferred statements of a batch, with savepoints that let one message fail
// alone.
//
// A single plain statement needs no savepoint: SQLite undoes it when it fails. A deferred foreign
// key fails at the commit, for the whole batch: so it is checked after each message.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/sqlite/handler_statements.h"
#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

class StatementRun {
 public:
  explicit StatementRun(Connection& connection);

  // Begins a new unit. `undo_all` rolls the whole unit back.
  void begin(Savepoints savepoints, std::function<void()> undo_all);
  void add(std::size_t message, const StatementList& statements);
  bool pending() const noexcept { return used_ > 0; }

  FlushReport flush();
  // Throws Failure: kRejected for an error of `statement`, kRetryTransaction where an earlier
  // statement failed.
  Rows query(std::size_t message, const RecordedStatement& statement);
  void undo(std::size_t message);
  // After this, no message can be undone any more.
  void release_mark();
  bool all_undone() const noexcept { return all_undone_; }

 private:
  struct Pending {
    std::size_t message = 0;
    RecordedStatement statement;
  };

  void run_pending(std::size_t end);
  void run_group(std::size_t first, std::size_t end);
  // False where the message is over.
  bool run_one(const Pending& one);
  // False where it left rows without their parents, and is undone.
  bool has_parents(std::size_t message);
  // Called after the last statement of the message whose savepoint is open.
  void end_mark();
  void open_mark(std::size_t message);
  void undo_group(bool something_done);
  void note_ended(std::size_t message, const HandlerStatements::Broke* broke);
  bool told_of(std::size_t message) const;

  Connection& connection_;
  HandlerStatements statements_;
  Prepared mark_;
  Prepared back_;
  Prepared release_;

  Savepoints savepoints_ = Savepoints::kSparse;
  std::function<void()> undo_all_;
  // Reused by later units, to avoid allocations.
  std::vector<Pending> pending_;
  std::size_t used_ = 0;
  std::optional<std::size_t> marked_;   // the message whose savepoint is open
  std::optional<std::size_t> queried_;  // the message whose savepoint stays open: it has queried
  FlushReport report_;
  bool all_undone_ = false;
};

}  // namespace semel::sqlite
