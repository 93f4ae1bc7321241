#include "stores/sql/statement_run.h"

#include <algorithm>
#include <utility>

#include "stores/sql/failure.h"

namespace semel::sql {
namespace {

[[noreturn]] void ask_for_another_run() {
  fail({ErrorKind::kRetryTransaction, "R200", "a statement before this query failed", {}});
}

bool as_expected(const RecordedStatement& statement, const Ran& ran) {
  return !statement.expect_rows || *statement.expect_rows == ran.rows;
}

}  // namespace

void StatementRun::add(std::size_t message, const StatementList& statements) {
  for (const RecordedStatement& statement : statements) pending_.push_back({message, statement});
}

FlushReport StatementRun::flush() {
  Batch batch;
  for (const Pending& one : pending_) {
    const bool next = !batch.empty() && batch.back()->message != one.message;
    if (next && savepoints_ == Savepoints::kEach) run_all(std::exchange(batch, {}));
    batch.push_back(&one);
  }
  run_all(std::move(batch));
  pending_.clear();
  return std::exchange(report_, {});
}

void StatementRun::run_all(Batch batch) {
  for (;;) {
    std::erase_if(batch, [&](const Pending* one) { return told_of(one->message); });
    if (batch.empty()) return;
    const auto bad = run_once(batch);
    if (!bad) return;
    // Of one that has asked, what it did then goes too.
    wire_.send(bad == asked_ ? Mark::kBackToMessage : Mark::kBackToFlush);
  }
}

std::optional<std::size_t> StatementRun::run_once(const Batch& batch) {
  // Not released: the commit does that, and until then the way back is open.
  wire_.send(Mark::kFlush);
  const std::size_t sent = send_batch(batch);
  std::vector<Told> told = wire_.run();
  const auto bad = read_batch(batch, told);
  if (bad || sent == batch.size()) return bad;
  return batch[sent]->message;
}

std::size_t StatementRun::send_batch(const Batch& batch) {
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (auto refused = wire_.send(batch[at]->statement, false)) {
      note(batch[at]->message, *std::move(refused));
      return at;
    }
  }
  return batch.size();
}

std::optional<std::size_t> StatementRun::read_batch(const Batch& batch, std::vector<Told>& told) {
  std::optional<std::size_t> must_go;
  for (std::size_t at = 0; at < std::min(told.size(), batch.size()); ++at) {
    const Pending& one = *batch[at];
    if (auto* const broke = std::get_if<Broke>(&told[at].how)) {
      note(one.message, std::move(*broke));
      return one.message;
    }
    const Ran ran = std::get<Ran>(told[at].how);
    if (as_expected(one.statement, ran) || told_of(one.message)) continue;
    report_.missed.push_back({one.message, one.statement.otherwise});
    const bool alone = (at == 0 || batch[at - 1]->message != one.message) &&
                       (at + 1 == batch.size() || batch[at + 1]->message != one.message);
    // What changed nothing leaves nothing to undo.
    const bool nothing_done = alone && ran.rows == 0 && asked_ != one.message;
    if (!nothing_done && !must_go) must_go = one.message;
  }
  return must_go;
}

void StatementRun::note(std::size_t message, Broke broke) {
  if (told_of(message)) return;
  if (broke.rule != nullptr) {
    report_.missed.push_back({message, broke.rule->otherwise});
  } else {
    report_.failed.push_back({message, std::move(broke.sql_class), std::move(broke.error)});
  }
}

bool StatementRun::told_of(std::size_t message) const {
  const auto about = [&](const auto& one) { return one.message == message; };
  return std::ranges::any_of(report_.failed, about) || std::ranges::any_of(report_.missed, about);
}

Rows StatementRun::query(std::size_t message, const RecordedStatement& statement) {
  Batch earlier;
  Batch own;
  for (const Pending& one : pending_) (one.message == message ? own : earlier).push_back(&one);
  run_all(std::move(earlier));
  if (!report_.failed.empty() || told_of(message)) {
    pending_.clear();
    ask_for_another_run();
  }
  if (asked_ && asked_ != message) wire_.send(Mark::kReleaseMessage);
  if (asked_ != message) wire_.send(Mark::kMessage);
  asked_ = message;
  Told answer = run_own(message, own, statement);
  pending_.clear();
  if (auto* const broke = std::get_if<Broke>(&answer.how)) {
    wire_.send(Mark::kBackToQuestion);
    fail(std::move(broke->error));
  }
  return std::move(answer.rows);
}

Told StatementRun::run_own(std::size_t message, const Batch& own,
                           const RecordedStatement& question) {
  const std::size_t sent = send_batch(own);
  bool lost = sent < own.size();
  if (!lost) {
    wire_.send(Mark::kQuestion);
    if (auto refused = wire_.send(question, true)) {
      wire_.run();
      pending_.clear();
      wire_.send(Mark::kBackToQuestion);
      fail(std::move(refused->error));
    }
    wire_.send(Mark::kReleaseQuestion);
  }
  std::vector<Told> told = wire_.run();
  std::optional<Told> answer;
  if (told.size() > own.size()) {
    answer = std::move(told.back());
    told.pop_back();
  }
  lost = read_batch(own, told).has_value() || lost || told_of(message);
  if (!lost && answer) return *std::move(answer);
  pending_.clear();
  wire_.send(Mark::kBackToMessage);
  ask_for_another_run();
}

void StatementRun::undo(std::size_t message) {
  std::erase_if(pending_, [&](const Pending& one) { return one.message == message; });
  if (asked_ != message) return;
  wire_.send(Mark::kBackToMessage);
  wire_.send(Mark::kReleaseMessage);
  asked_.reset();
}

}  // namespace semel::sql
