#include "stores/postgres/statement_run.h"

#include <algorithm>
#include <utility>

namespace semel::postgres {
namespace {

[[noreturn]] void ask_for_another_run() {
  sql::fail({ErrorKind::kRetryTransaction, "R200", "a statement before this query failed", {}});
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
    command(bad == asked_ ? texts_.back_to_message : texts_.back_to_flush);
  }
}

std::optional<std::size_t> StatementRun::run_once(const Batch& batch) {
  // Not released: the commit does that, and until then the way back is open.
  command(texts_.mark_flush);
  const std::size_t sent = send_batch(batch);
  const Results all = results();
  const std::span<const ResultPtr> own = std::span(all).last(sent);
  const auto bad = read_batch(batch, sent, own);
  if (bad || sent == batch.size()) return bad;
  return batch[sent]->message;
}

std::size_t StatementRun::send_batch(const Batch& batch) {
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (auto refused = send(pipe_, texts_, batch[at]->statement, false)) {
      note(batch[at]->message, *std::move(refused));
      return at;
    }
  }
  return batch.size();
}

std::optional<std::size_t> StatementRun::read_batch(const Batch& batch, std::size_t sent,
                                                    std::span<const ResultPtr> results) {
  std::optional<std::size_t> must_go;
  for (std::size_t at = 0; at < sent; ++at) {
    const Pending& one = *batch[at];
    auto judged = judge(results[at].get(), one.statement);
    if (auto* const broke = std::get_if<Broke>(&judged)) {
      note(one.message, std::move(*broke));
      return one.message;
    }
    const Ran ran = std::get<Ran>(judged);
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

StatementRun::Results StatementRun::results() {
  Results all;
  for (Pipe::Segment& segment : pipe_.run(Loss::kNothingDone)) {
    for (ResultPtr& result : segment.results) all.push_back(std::move(result));
  }
  return all;
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
  if (asked_ && asked_ != message) command(texts_.release_message);
  if (asked_ != message) command(texts_.mark_message);
  asked_ = message;
  Results all;
  run_own(message, own, statement, all);
  pending_.clear();
  // Before the last one, which releases the question's mark.
  const PGresult* const answer = all[all.size() - 2].get();
  auto judged = judge(answer, statement);
  if (auto* const broke = std::get_if<Broke>(&judged)) {
    command(texts_.back_to_question);
    sql::fail(std::move(broke->error));
  }
  return rows_of(answer);
}

void StatementRun::run_own(std::size_t message, const Batch& own, const RecordedStatement& question,
                           Results& results) {
  const std::size_t sent = send_batch(own);
  bool lost = sent < own.size();
  if (!lost) {
    command(texts_.mark_question);
    if (auto refused = send(pipe_, texts_, question, true)) {
      this->results();
      pending_.clear();
      command(texts_.back_to_question);
      sql::fail(std::move(refused->error));
    }
    command(texts_.release_question);
  }
  results = this->results();
  const std::size_t ours = lost ? 0 : 3;
  const auto of_own = std::span<const ResultPtr>(results).last(sent + ours).first(sent);
  lost = read_batch(own, sent, of_own).has_value() || lost || told_of(message);
  if (!lost) return;
  pending_.clear();
  command(texts_.back_to_message);
  ask_for_another_run();
}

void StatementRun::undo(std::size_t message) {
  std::erase_if(pending_, [&](const Pending& one) { return one.message == message; });
  if (asked_ != message) return;
  command(texts_.back_to_message);
  command(texts_.release_message);
  asked_.reset();
}

}  // namespace semel::postgres
