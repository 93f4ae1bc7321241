// StatementRun: the deferred statements of a batch, sent together, and the marks that let one
// message fail alone.
//
// Where one broke, what came behind the mark is undone and sent again without its message.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/sql/handler_wire.h"

namespace semel::sql {

class StatementRun {
 public:
  // `check`: constraints are checked at the end of a flush. It has one message then.
  StatementRun(HandlerWire& wire, Savepoints savepoints, bool check)
      : wire_(wire), savepoints_(savepoints), check_(check && wire.checks_deferred()) {}

  void add(std::size_t message, const StatementList& statements);
  bool pending() const noexcept { return !pending_.empty(); }

  FlushReport flush();
  // Whether no answer to what is pending decides anything, unless one is an error.
  bool needs_no_answers() const noexcept;
  // Flushes and commits in one trip. Where a statement broke nothing is committed. Told is only one
  // that was blocked, or, with `tells`, whichever broke and has no rules for that.
  FlushReport flush_and_commit(bool tells);
  // Throws Failure: kRejected for an error of `statement`, kRetryTransaction where what came before
  // it failed.
  Rows query(std::size_t message, const RecordedStatement& statement);
  void undo(std::size_t message);

 private:
  struct Pending {
    std::size_t message = 0;
    RecordedStatement statement;
  };
  using Batch = std::vector<const Pending*>;

  void run_all(Batch batch);
  void check_constraints();
  static Batch whole_messages(const Batch& batch, std::size_t most);
  // The message that must be left out, where what was sent must be undone for its sake.
  std::optional<std::size_t> run_once(const Batch& batch);
  // How many were sent: what cannot be sent ends it, and is noted.
  std::size_t send_batch(const Batch& batch);
  // Of as many as were told of.
  std::optional<std::size_t> read_batch(const Batch& batch, std::vector<Told>& told);
  Told run_own(std::size_t message, const Batch& own, const RecordedStatement& question);
  void note(const Pending& pending, Broke broke);
  void note(std::size_t message, Broke broke);
  bool told_of(std::size_t message) const;

  HandlerWire& wire_;
  const Savepoints savepoints_;
  const bool check_;
  std::vector<Pending> pending_;
  std::optional<std::size_t> asked_;  // the message whose mark is open: it has asked
  FlushReport report_;
};

}  // namespace semel::sql
