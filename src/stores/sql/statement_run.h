// StatementRun: the deferred statements of a batch, sent together, with savepoints that let one
// message fail alone.
//
// If one statement breaks, everything after the savepoint is undone and sent again without its
// message.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/sql/handler_wire.h"

namespace semel::sql {

class StatementRun {
 public:
  // `check`: constraints are checked at the end of a flush, which then has one message.
  StatementRun(HandlerWire& wire, Savepoints savepoints, bool check)
      : wire_(wire), savepoints_(savepoints), check_(check && wire.checks_deferred()) {}

  void add(std::size_t message, const StatementList& statements);
  bool pending() const noexcept { return !pending_.empty(); }

  FlushReport flush();
  // Whether only an error among the pending answers could change anything.
  bool needs_no_answers() const noexcept;
  // Flushes and commits in one round trip. If a statement broke, nothing is committed. Reports only
  // one that was blocked, or, with `tells`, any that broke without a rule for it.
  FlushReport flush_and_commit(bool tells);
  // Throws Failure: kRejected for an error of `statement`, kRetryTransaction where an earlier
  // statement failed.
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
  // The message to leave out, where sent statements must be undone because of it.
  std::optional<std::size_t> run_once(const Batch& batch);
  // Returns how many were sent: the first that cannot be sent ends it, and is noted.
  std::size_t send_batch(const Batch& batch);
  // Reads as many answers as `told` has.
  std::optional<std::size_t> read_batch(const Batch& batch, std::vector<Told>& told);
  Told run_own(std::size_t message, const Batch& own, const RecordedStatement& question);
  void note(const Pending& pending, Broke broke);
  void note(std::size_t message, Broke broke);
  bool told_of(std::size_t message) const;

  HandlerWire& wire_;
  const Savepoints savepoints_;
  const bool check_;
  std::vector<Pending> pending_;
  std::optional<std::size_t> asked_;  // the message that has queried, whose savepoint is open
  FlushReport report_;
};

}  // namespace semel::sql
