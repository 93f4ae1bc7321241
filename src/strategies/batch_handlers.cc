// The part of BatchRun for handlers: their calls, statements and queries, and which message an
// error belongs to.
#include <algorithm>
#include <iterator>
#include <utility>

#include <semel/reason.h>

#include "core/transaction_recorder.h"
#include "strategies/batch_run.h"
#include "strategies/decision.h"

namespace semel::strategies {

namespace {

// The last part of a reason, taken from the code of a query's error.
std::string sql_class_of(const Error& error) {
  constexpr std::string_view kFamily = "handler.sql.";
  const std::string_view code = error.code;
  return std::string(code.starts_with(kFamily) ? code.substr(kFamily.size()) : "other");
}

bool expects_rows(const StatementList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const RecordedStatement& s) { return s.expect_rows.has_value(); });
}

}  // namespace

// Passes a handler's queries to its unit, with the statements recorded before each.
class BatchRun::Reading final : public core::TransactionRecorder::Queries {
 public:
  Reading(BatchRun& run, UnitOfWork& unit, std::size_t at) : run_(run), unit_(unit), at_(at) {}

  Rows query(const RecordedStatement& statement, StatementList& recorded) override {
    if (met_ || blocked_for_) throw BatchBroken{};
    asked_ = true;
    if (run_.names_blocked_) stop_if_blocked(statement, recorded);
    run_.send_waiting(unit_);
    run_.sent_ = true;
    send(recorded);
    auto rows = unit_.query(at_, statement);
    if (rows) return *std::move(rows);
    Error& error = rows.error();
    if (error.kind == ErrorKind::kRejected || error.kind == ErrorKind::kLimit) {
      std::string sql_class = sql_class_of(error);
      throw StatementFailed(std::move(error), std::move(sql_class));
    }
    if (error.code == kQueryBlocked && run_.is_strangers(run_.window_[at_])) {
      run_.meet_stranger(run_.window_[at_], error, statement, recorded);
    }
    met_ = std::move(error);
    throw BatchBroken{};
  }

  // The unit may refer to these lists until its flush, and the handler to the statements it
  // recorded.
  void send(const StatementList& recorded) {
    if (recorded.size() <= sent_) return;
    run_.parts_.emplace_back(recorded.begin() + static_cast<std::ptrdiff_t>(sent_), recorded.end());
    sent_ = recorded.size();
    unit_.run(at_, run_.parts_.back());
  }

  bool asked() const noexcept { return asked_; }
  // An error of a query that may belong to another message.
  std::optional<Error>& met() noexcept { return met_; }
  // How long to wait, if the handler queried a row that is known to be blocked.
  std::optional<std::chrono::milliseconds> blocked_for() const noexcept { return blocked_for_; }

 private:
  void stop_if_blocked(const RecordedStatement& question, const StatementList& recorded) {
    const auto answer = run_.ask_for_blocked(run_.window_[at_], recorded, &question);
    if (answer.known != BlockedRows::Known::kBlocked) return;
    blocked_for_ = answer.wait;
    throw BatchBroken{};
  }

  BatchRun& run_;
  UnitOfWork& unit_;
  const std::size_t at_;
  std::size_t sent_ = 0;
  bool asked_ = false;
  std::optional<Error> met_;
  std::optional<std::chrono::milliseconds> blocked_for_;
};

BatchRun::Progress BatchRun::run_handlers(UnitOfWork& unit) {
  for (std::size_t at = 0; at < window_.size(); ++at) {
    Slot& slot = window_[at];
    if (!slot.acquired) continue;
    if (!slot.decision) {
      if (const Progress progress = call(unit, at); progress != Progress::kWell) return progress;
    } else if (slot.decision->has_effect()) {
      send_later(at);
    }
  }
  return Progress::kWell;
}

void BatchRun::send_later(std::size_t at) {
  if (!window_[at].list.empty()) waiting_.push_back(at);
}

void BatchRun::send_waiting(UnitOfWork& unit) {
  if (waiting_.empty()) return;
  if (!context_.store->traits().single_writer) {
    std::vector<const StatementList*> lists;
    for (const Slot& slot : window_) lists.push_back(&slot.list);
    stats_.lock_order.sort(waiting_, lists);
    look_out();
    keep_in_order(waiting_);
  }
  for (const std::size_t at : waiting_) unit.run(at, window_[at].list);
  waiting_.clear();
  sent_ = true;
}

bool BatchRun::stopped_before_start(Slot& slot, const std::stop_token& stop) {
  if (!stop.stop_requested() || options_.second_part) return false;
  release(slot);
  return true;
}

BatchRun::Progress BatchRun::call(UnitOfWork& unit, std::size_t at) {
  Slot& slot = window_[at];
  for (;;) {
    Attempt attempt;
    attempt.number = slot.claim_info.attempt;
    attempt.taken_over = slot.claim_info.taken_over;
    attempt.since_first = slot.claim_info.since_first;
    attempt.position = slot.delivery->arrival.position;
    attempt.gate = context_.services.gate;
    if (slot.claim_info.lease) attempt.token = slot.claim_info.lease->token;
    if (watch_) attempt.stop = watch_->handler_begins(first_ + at);
    if (stopped_before_start(slot, attempt.stop)) {
      watch_->handler_ended(first_ + at);
      return Progress::kWell;
    }
    Reading reading(*this, unit, at);
    core::TransactionRecorder recorder(reading);
    Transaction transaction(recorder, std::move(attempt));
    Decision decision = call_handler(context_, slot.delivery->message, transaction);
    if (watch_) watch_->handler_ended(first_ + at);
    forgive_if_cancelled(decision, watch_.get());
    slot.reads = reading.asked() || options_.always_rerun;
    if (const auto wait = reading.blocked_for()) return hold_reader(unit, at, *wait);
    if (slot.blocked) return Progress::kUndone;
    if (!reading.met()) {
      slot.decision = std::move(decision);
      slot.list = std::move(recorder.statements());
      return send_rest(unit, at, reading);
    }
    // The decision is void, because it was made within a broken transaction.
    const Progress progress = mend(unit, at, *std::move(reading.met()));
    if (progress != Progress::kWell) return progress;
    if (slot.failed || slot.missed) return Progress::kWell;
  }
}

BatchRun::Progress BatchRun::send_rest(UnitOfWork& unit, std::size_t at, Reading& reading) {
  Slot& slot = window_[at];
  if (!slot.decision->has_effect()) {
    slot.list.clear();
    const bool commits = slot.decision->kind != Decision::Kind::kFailed || window_.size() > 1;
    if (options_.always_rerun && commits) {
      // Changes that the handler made on the connection itself are undone with the transaction; the
      // decision remains.
      slot.reads = false;
      return Progress::kUndone;
    }
    if (!reading.asked()) return Progress::kWell;
    auto undone = unit.undo(at);
    return undone ? Progress::kWell : fail(std::move(undone.error()));
  }
  if (!reading.asked()) {
    send_later(at);
    return Progress::kWell;
  }
  if (names_blocked_) {
    const BlockedRows::Answer answer = ask_for_blocked(slot, slot.list, nullptr);
    if (answer.known == BlockedRows::Known::kBlocked) return hold_reader(unit, at, answer.wait);
  }
  reading.send(slot.list);
  return Progress::kWell;
}

// A query failed because of the flush before it. If only the message at fault was undone, the
// handler that called the query runs again in the same transaction.
BatchRun::Progress BatchRun::mend(UnitOfWork& unit, std::size_t at, Error met) {
  if (met.kind != ErrorKind::kRetryTransaction) return fail(std::move(met));
  auto report = unit.flush();
  // If the query's error ended the unit, that error is the cause.
  if (!report) return fail(std::move(met));
  const bool told = note(*report);
  if (contended_) return fail(*std::exchange(contended_, std::nullopt));
  if (!told) return fail(std::move(met));
  if (report->all_undone || undoes_beside()) return Progress::kUndone;
  const Slot& slot = window_[at];
  if (slot.failed || slot.missed) return Progress::kWell;
  auto undone = unit.undo(at);
  return undone ? Progress::kWell : fail(std::move(undone.error()));
}

// True if the report names a message that was not yet known to fail or to miss its rule.
bool BatchRun::note(const FlushReport& report) {
  bool told = false;
  for (const FlushReport::Failed& one : report.failed) {
    if (one.message >= window_.size()) continue;
    Slot& slot = window_[one.message];
    if (one.blocked && !is_strangers(slot)) {
      contended_ = one.error;
      continue;
    }
    told = told || !slot.failed;
    if (one.blocked) {
      meet_stranger(slot, one.error, *one.blocked, slot.list);
      continue;
    }
    slot.failed = true;
    slot.list.clear();
    const std::string reason = reason::sql_reason(one.sql_class);
    // A caller without a place for dead letters decides how often to retry.
    slot.decision =
        context_.hold ? failed_statement(reason, one.error) : failed(reason, one.error.message);
    ran_.failed = one;
  }
  for (const FlushReport::Missed& one : report.missed) {
    if (one.message >= window_.size()) continue;
    Slot& slot = window_[one.message];
    told = told || !slot.missed;
    const char* sql_class =
        slot.list.empty() || expects_rows(slot.list) ? "expect_rows" : "constraint";
    slot.missed = decide_miss(context_, one.otherwise, sql_class);
    forgive_early(slot, one.otherwise);
  }
  return told;
}

// Called after messages failed or missed what they declared. The unit has undone their statements,
// but not the other changes that they made on a borrowed connection. If there may be such changes,
// returns true: the whole transaction is undone and runs again with these decisions.
bool BatchRun::undoes_beside() {
  if (!options_.always_rerun) return false;
  bool commits = window_.size() > 1;
  for (Slot& slot : window_) {
    if (!slot.missed) continue;
    commits = true;
    slot.decision = *std::exchange(slot.missed, std::nullopt);
    slot.failed = true;
    slot.list.clear();
  }
  return commits;
}

void BatchRun::forgive_early(Slot& slot, const Otherwise& otherwise) {
  if (options_.versions == nullptr || !otherwise.early_for) return;
  const KeyId& key = slot.delivery->message.key().id;
  const auto wait = options_.versions->forgive(key, *otherwise.early_for);
  if (!wait) return;
  slot.missed->counted = false;
  slot.missed->after = *wait;
}

}  // namespace semel::strategies
