#include "stores/sqlite/statement_run.h"

#include <algorithm>
#include <utility>

namespace semel::sqlite {
namespace {

constexpr const char* kEnded = "the statement ended the transaction";
constexpr const char* kNoParent =
    "FOREIGN KEY constraint failed: a deferred one, of a row whose parent is still missing";

[[noreturn]] void ask_for_another_run() {
  fail({ErrorKind::kRetryTransaction, "R200", "a statement before this query failed", {}});
}

}  // namespace

StatementRun::StatementRun(Connection& connection)
    : connection_(connection),
      statements_(connection),
      mark_(connection, "SAVEPOINT semel_message"),
      back_(connection, "ROLLBACK TO semel_message"),
      release_(connection, "RELEASE semel_message") {}

void StatementRun::begin(Savepoints savepoints, std::function<void()> undo_all) {
  savepoints_ = savepoints;
  undo_all_ = std::move(undo_all);
  used_ = 0;
  marked_.reset();
  queried_.reset();
  report_ = {};
  all_undone_ = false;
}

void StatementRun::add(std::size_t message, const StatementList& statements) {
  for (const RecordedStatement& statement : statements) {
    if (used_ == pending_.size()) pending_.emplace_back();
    pending_[used_].message = message;
    pending_[used_].statement = statement;
    ++used_;
  }
}

FlushReport StatementRun::flush() {
  run_pending(used_);
  used_ = 0;
  // A message that has queried keeps its savepoint: it may still be undone.
  if (marked_ && !all_undone_) (void)has_parents(*marked_);
  report_.all_undone = all_undone_;
  return std::exchange(report_, {});
}

void StatementRun::run_pending(std::size_t end) {
  for (std::size_t first = 0; first < end && !all_undone_;) {
    std::size_t last = first + 1;
    while (last < end && pending_[last].message == pending_[first].message) ++last;
    if (!told_of(pending_[first].message)) run_group(first, last);
    first = last;
  }
}

bool StatementRun::told_of(std::size_t message) const {
  const auto about = [&](const auto& one) { return one.message == message; };
  return std::ranges::any_of(report_.failed, about) || std::ranges::any_of(report_.missed, about);
}

void StatementRun::run_group(std::size_t first, std::size_t end) {
  const std::size_t message = pending_[first].message;
  const RecordedStatement& one = pending_[first].statement;
  const bool plain = end - first == 1 && !one.expect_rows && !one.rule;
  if (marked_ != message) end_mark();
  if (all_undone_) return;
  if (!marked_ && (savepoints_ == Savepoints::kEach || !plain)) open_mark(message);
  for (std::size_t at = first; at < end; ++at) {
    if (!run_one(pending_[at])) return;
  }
  if (queried_ != message && has_parents(message)) release_mark();
}

bool StatementRun::has_parents(std::size_t message) {
  // On a borrowed connection the caller may still insert them.
  if (connection_.borrowed() || !connection_.misses_parents()) return true;
  report_.failed.push_back(
      {message, "constraint", {ErrorKind::kRejected, "handler.sql.constraint", kNoParent, {}}});
  undo_group(true);
  return false;
}

void StatementRun::end_mark() {
  if (marked_ && has_parents(*marked_)) release_mark();
}

bool StatementRun::run_one(const Pending& one) {
  Rows returned;
  auto went = statements_.run(one.statement, one.statement.rule ? &returned : nullptr);
  auto* const broke = std::get_if<HandlerStatements::Broke>(&went);
  if (!connection_.in_transaction()) {
    note_ended(one.message, broke);
    return false;
  }
  if (broke != nullptr) {
    if (broke->rule != nullptr) {
      report_.missed.push_back({one.message, broke->rule->otherwise});
    } else {
      report_.failed.push_back({one.message, std::move(broke->sql_class), std::move(broke->error)});
    }
    undo_group(broke->partly_done);
    return false;
  }
  const std::int64_t count = std::get<HandlerStatements::Ran>(went).rows;
  auto otherwise = miss_of(one.statement, count, returned);
  if (!otherwise) return true;
  report_.missed.push_back({one.message, *std::move(otherwise)});
  undo_group(true);
  return false;
}

// ON CONFLICT ROLLBACK, or RAISE(ROLLBACK) in a trigger: later statements would commit without
// their claim.
void StatementRun::note_ended(std::size_t message, const HandlerStatements::Broke* broke) {
  all_undone_ = true;
  marked_.reset();
  Error error{ErrorKind::kRejected, "handler.sql.refused", kEnded,
              "a trigger or a constraint of the table says ROLLBACK; say ABORT"};
  if (broke != nullptr && broke->rule != nullptr) {
    report_.missed.push_back({message, broke->rule->otherwise});
    return;
  }
  if (broke != nullptr) error.message += ": " + broke->error.message;
  report_.failed.push_back({message, broke != nullptr ? broke->sql_class : "refused", error});
}

void StatementRun::undo_group(bool something_done) {
  if (marked_) {
    back_.run();
    release_.run();
    marked_.reset();
    return;
  }
  if (!something_done) return;
  undo_all_();
  all_undone_ = true;
}

void StatementRun::open_mark(std::size_t message) {
  mark_.run();
  marked_ = message;
}

void StatementRun::release_mark() {
  if (!marked_) return;
  release_.run();
  marked_.reset();
}

Rows StatementRun::query(std::size_t message, const RecordedStatement& statement) {
  std::size_t own = used_;
  while (own > 0 && pending_[own - 1].message == message) --own;
  const std::size_t end = used_;
  run_pending(own);
  if (marked_ != message && !all_undone_) end_mark();
  if (marked_ != message && !all_undone_) open_mark(message);
  queried_ = message;
  if (!all_undone_ && own < end) run_group(own, end);
  used_ = 0;
  if (all_undone_ || !report_.failed.empty() || told_of(message)) ask_for_another_run();
  Rows rows;
  auto went = statements_.run(statement, &rows);
  auto* const broke = std::get_if<HandlerStatements::Broke>(&went);
  if (!connection_.in_transaction()) {
    note_ended(message, broke);
    ask_for_another_run();
  }
  if (broke != nullptr) fail(std::move(broke->error));
  return rows;
}

void StatementRun::undo(std::size_t message) {
  while (used_ > 0 && pending_[used_ - 1].message == message) --used_;
  if (marked_ == message) {
    back_.run();
    release_.run();
    marked_.reset();
  }
  if (queried_ == message) queried_.reset();
}

}  // namespace semel::sqlite
