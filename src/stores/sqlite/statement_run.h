// StatementRun: the deferred statements of a batch, and the marks that let one message fail alone.
//
// A mark is a savepoint. A single plain statement needs none: SQLite undoes what failed. A deferred
// foreign key fails at the commit, for all of the batch: so it is looked at behind each message.
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

  // A new unit. `undo_all` rolls the whole unit back.
  void begin(Savepoints savepoints, std::function<void()> undo_all);
  void add(std::size_t message, const StatementList& statements);
  bool pending() const noexcept { return used_ > 0; }

  FlushReport flush();
  // Throws Failure: kRejected for an error of `statement`, kRetryTransaction where what came before
  // it failed.
  Rows query(std::size_t message, const RecordedStatement& statement);
  void undo(std::size_t message);
  // No message may be undone any more.
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
  // Behind the last statement of the message whose mark is open.
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
  // Kept from unit to unit, for the memory they hold.
  std::vector<Pending> pending_;
  std::size_t used_ = 0;
  std::optional<std::size_t> marked_;   // the message whose mark is open
  std::optional<std::size_t> queried_;  // the message whose mark stays open: it has asked
  FlushReport report_;
  bool all_undone_ = false;
};

}  // namespace semel::sqlite
