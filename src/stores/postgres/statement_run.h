// StatementRun: the deferred statements of a batch, sent together, and the marks that let one
// message fail alone.
//
// On an error PostgreSQL refuses all that follows until it goes back to a mark (savepoint); what
// came behind the mark is then sent again without the message that failed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/unit_of_work.h>

#include "stores/postgres/handler_statements.h"

namespace semel::postgres {

class StatementRun {
 public:
  StatementRun(Pipe& pipe, HandlerTexts& texts, Savepoints savepoints)
      : pipe_(pipe), texts_(texts), savepoints_(savepoints) {}

  void add(std::size_t message, const StatementList& statements);
  bool pending() const noexcept { return !pending_.empty(); }

  FlushReport flush();
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
  using Results = std::vector<ResultPtr>;

  void run_all(Batch batch);
  // The message that must be left out, where what was sent must be undone for its sake.
  std::optional<std::size_t> run_once(const Batch& batch);
  // How many were sent: what cannot be sent ends it, and is noted.
  std::size_t send_batch(const Batch& batch);
  std::optional<std::size_t> read_batch(const Batch& batch, std::size_t sent,
                                        std::span<const ResultPtr> results);
  void run_own(std::size_t message, const Batch& own, const RecordedStatement& question,
               Results& results);
  void note(std::size_t message, Broke broke);
  bool told_of(std::size_t message) const;
  void command(const std::string& sql) { pipe_.send(sql, {}); }
  Results results();

  Pipe& pipe_;
  HandlerTexts& texts_;
  const Savepoints savepoints_;
  std::vector<Pending> pending_;
  std::optional<std::size_t> asked_;  // the message whose mark is open: it has asked
  FlushReport report_;
};

}  // namespace semel::postgres
