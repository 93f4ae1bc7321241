#include "stores/sql/statement_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/sql/failure.h"

namespace semel::sql {
namespace {

[[noreturn]] void ask_for_another_run() {
  fail({ErrorKind::kRetryTransaction, "R200", "a statement before this query failed", {}});
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
  if (check_ && !report_.all_undone) check_constraints();
  pending_.clear();
  return std::exchange(report_, {});
}

void StatementRun::check_constraints() {
  if (!asked_ && pending_.empty()) return;
  const std::size_t message = asked_ ? *asked_ : pending_.front().message;
  if (told_of(message)) return;
  wire_.send(Mark::kCheck);
  for (Told& told : wire_.run()) {
    auto* const broke = std::get_if<Broke>(&told.how);
    if (broke == nullptr) continue;
    note(message, std::move(*broke));
    wire_.send(asked_ ? Mark::kBackToMessage : Mark::kBackToFlush);
    return;
  }
}

bool StatementRun::needs_no_answers() const noexcept {
  return savepoints_ == Savepoints::kSparse && !asked_ && !check_ &&
         std::ranges::none_of(pending_, [](const Pending& one) {
           return one.statement.expect_rows || one.statement.rule != nullptr;
         });
}

FlushReport StatementRun::flush_and_commit(bool tells) {
  Batch batch;
  for (const Pending& one : pending_) batch.push_back(&one);
  const bool sent = send_batch(batch) == batch.size();
  if (sent) wire_.send(Mark::kCommit);
  std::vector<Told> told = wire_.run();
  report_ = {};
  auto* const broke = told.empty() ? nullptr : std::get_if<Broke>(&told.back().how);
  if (broke == nullptr) {
    report_.committed = sent && told.size() == batch.size();
  } else if (told.size() <= batch.size()) {
    const Pending& one = *batch[told.size() - 1];
    const bool blocked = broke->error.kind == ErrorKind::kBlocked;
    if (blocked || (tells && one.statement.unique_rules == nullptr)) note(one, std::move(*broke));
  }
  pending_.clear();
  return std::exchange(report_, {});
}

// At first in one part. When something must be undone, the part that contains it is sent again: so
// parts become smaller if that happens often, and grow again.
void StatementRun::run_all(Batch batch) {
  std::size_t most = batch.size();
  while (!report_.all_undone) {
    std::erase_if(batch, [&](const Pending* one) { return told_of(one->message); });
    if (batch.empty()) return;
    const Batch part = whole_messages(batch, most);
    const auto bad = run_once(part);
    if (report_.all_undone) return;
    if (bad) {
      // For a message that has queried, the effects of its query are undone too. It is the first of
      // all.
      wire_.send(bad == asked_ ? Mark::kBackToMessage : Mark::kBackToFlush);
      most = std::max<std::size_t>(part.size() / 2, 1);
    } else {
      batch.erase(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(part.size()));
      most *= 2;
    }
  }
}

// From its front, `most` statements (one at least) and the rest of the last one's message.
StatementRun::Batch StatementRun::whole_messages(const Batch& batch, std::size_t most) {
  std::size_t end = std::min(most, batch.size());
  while (end < batch.size() && batch[end]->message == batch[end - 1]->message) ++end;
  return {batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::optional<std::size_t> StatementRun::run_once(const Batch& batch) {
  // Not released here: the commit does that, and until then rolling back to it stays possible.
  wire_.send(Mark::kFlush);
  const std::size_t sent = send_batch(batch);
  std::vector<Told> told = wire_.run();
  const auto bad = read_batch(batch, told);
  if (bad || sent == batch.size()) return bad;
  return batch[sent]->message;
}

std::size_t StatementRun::send_batch(const Batch& batch) {
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const RecordedStatement& statement = batch[at]->statement;
    if (auto refused = wire_.send(statement, statement.rule != nullptr)) {
      note(*batch[at], *std::move(refused));
      return at;
    }
  }
  return batch.size();
}

std::optional<std::size_t> StatementRun::read_batch(const Batch& batch, std::vector<Told>& told) {
  const std::size_t count = std::min(told.size(), batch.size());
  std::vector<FlushReport::Missed> misses;
  for (std::size_t at = 0; at < count;) {
    const std::size_t message = batch[at]->message;
    std::optional<Otherwise> miss;
    bool changed = asked_ == message;
    for (; at < count && batch[at]->message == message; ++at) {
      const RecordedStatement& statement = batch[at]->statement;
      if (auto* const broke = std::get_if<Broke>(&told[at].how)) {
        const bool blocked = broke->error.kind == ErrorKind::kBlocked;
        if (miss && !blocked) report_.missed.push_back({message, *std::move(miss)});
        note(*batch[at], std::move(*broke));
        return message;
      }
      const Ran ran = std::get<Ran>(told[at].how);
      changed = changed || (ran.rows > 0 && !statement.statement->only_reads());
      if (!miss) miss = miss_of(statement, ran.rows, told[at].rows);
    }
    if (!miss) continue;
    misses.push_back({message, *std::move(miss)});
    if (!changed) continue;
    // It is undone although it ran. Later statements ran on top of it, so their answers mean
    // nothing.
    report_.missed.push_back(std::move(misses.back()));
    return message;
  }
  std::ranges::move(misses, std::back_inserter(report_.missed));
  return std::nullopt;
}

void StatementRun::note(const Pending& pending, Broke broke) {
  const bool blocked = broke.error.kind == ErrorKind::kBlocked && !told_of(pending.message);
  name_statement(broke, pending.statement);
  note(pending.message, std::move(broke));
  if (!blocked) return;
  // Continuing would mean waiting again, with everything that is locked so far.
  report_.failed.back().blocked = pending.statement;
  report_.all_undone = true;
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
    name_statement(*broke, statement);
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
      name_statement(*refused, question);
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
