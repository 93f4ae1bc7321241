#include "stores/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <utility>

#include "stores/postgres/error_table.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostAtOnce = 128;
// How long one of our own statements may take, and how long once the process is to stop. A
// handler's statements may take as long as its timeout.
constexpr milliseconds kLongestAnswer = std::chrono::minutes(5);
constexpr milliseconds kLongestAfterStop{5'000};

}  // namespace

SessionTexts::SessionTexts(const Dialect& dialect, const std::string& clock)
    : begin("BEGIN ISOLATION LEVEL READ COMMITTED"),
      begin_look("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"),
      commit("COMMIT"),
      roll_back("ROLLBACK"),
      patience("SELECT set_config('lock_timeout', $1::text, true)"),
      share_group("SELECT pg_catalog.pg_advisory_xact_lock_shared($1)"),
      lock_group("SELECT pg_catalog.pg_advisory_xact_lock($1)"),
      mark("SAVEPOINT semel_unit"),
      release("RELEASE SAVEPOINT semel_unit"),
      back_to_mark("ROLLBACK TO SAVEPOINT semel_unit"),
      now(dialect, "SELECT " + clock) {
  constexpr const char* kSequences[] = {"semel_consumer_number", "semel_instance_number",
                                        "semel_held_number", "semel_inbox_number"};
  for (std::size_t i = 0; i < std::size(kSequences); ++i) {
    numbers[i] = fmt::format("SELECT nextval('{}{}') FROM generate_series(1, $1)", dialect.prefix(),
                             kSequences[i]);
  }
}

Connection::Connection(const Endpoint& endpoint, const Dialect& dialect, const SessionTexts& texts)
    : dialect_(dialect),
      texts_(texts),
      usual_patience_(endpoint.patience),
      stops_(endpoint.stops),
      pipe_(connect(endpoint), Pipe::Whose::kOwn) {}

Connection::Connection(PGconn* borrowed, bool prepares, const Dialect& dialect,
                       const SessionTexts& texts)
    : dialect_(dialect),
      texts_(texts),
      usual_patience_(0),
      stops_(system::Deadline::kNoStops),
      pipe_(borrowed, prepares ? Pipe::Whose::kLentPrepares : Pipe::Whose::kLent) {}

system::Deadline Connection::deadline() const noexcept {
  return {kLongestAnswer, stops_, kLongestAfterStop};
}

std::vector<ResultPtr> Connection::run() {
  // Outside of a transaction each segment commits by itself.
  auto segments = pipe_.run(open_ ? Loss::kNothingDone : Loss::kInDoubt, deadline());
  std::vector<ResultPtr> all;
  for (Pipe::Segment& segment : segments) {
    for (ResultPtr& result : segment.results) {
      if (!went_well(result.get())) throw failure_of(result.get());
      all.push_back(std::move(result));
    }
  }
  return all;
}

void Connection::queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  WireParams wire;
  for (const sql::Param& param : params) wire.add(param);
  queue(text, wire);
}

sql::Answer Connection::ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  queue(text, params);
  return answer_of(run().back().get());
}

sql::Answer Connection::ask(const sql::SqlText& text, const WireParams& params) {
  queue(text, params);
  return answer_of(run().back().get());
}

sql::Answer Connection::ask_planned(const sql::SqlText& text, const WireParams& params) {
  queue_planned(text, params);
  return answer_of(run().back().get());
}

void Connection::queue_once(const std::string& shared, std::initializer_list<sql::Param> params) {
  WireParams wire;
  for (const sql::Param& param : params) wire.add(param);
  pipe_.send_once(dialect_.translated(shared), wire);
}

sql::Answer Connection::ask_once(const std::string& shared,
                                 std::initializer_list<sql::Param> params) {
  queue_once(shared, params);
  return answer_of(run().back().get());
}

std::int64_t Connection::next_number(sql::Counter counter) {
  const auto which = static_cast<std::size_t>(counter);
  Block& block = blocks_[which];
  if (block.left.empty()) {
    WireParams params;
    params.add_integer(static_cast<std::int64_t>(block.next_size));
    pipe_.send(texts_.numbers[which], params);
    sql::Answer answer = answer_of(run().back().get());
    while (answer.next()) block.left.push_back(answer.integer(0));
    std::ranges::reverse(block.left);
    block.next_size = std::min(block.next_size * 4, kMostAtOnce);
  }
  const std::int64_t number = block.left.back();
  block.left.pop_back();
  if (!open_) block = {};
  return number;
}

StoreTime Connection::now() {
  sql::Answer answer = ask(texts_.now, {});
  answer.next();
  return answer.time(0);
}

void Connection::begin(milliseconds patience) {
  for (Block& block : blocks_) block = {};
  mark_ = inside();
  if (mark_) {
    // The owner may have changed its tables, or undone a change, meanwhile.
    handler_texts_.constraints() = {};
    pipe_.begin_unit();
    // Not as a named statement: if the server refused the name, the owner's transaction would fail.
    pipe_.send_once(texts_.mark);
  } else {
    pipe_.send(texts_.begin, {});
  }
  // The owner decides how long its session waits for locks.
  if (!borrowed() && patience != usual_patience_) wait_for_locks(patience);
  open_ = true;
  if (mark_ && pipe_.must_look()) pipe_.look(deadline());
}

bool Connection::inside() const noexcept {
  return borrowed() && PQtransactionStatus(pipe_.connection()) != PQTRANS_IDLE;
}

void Connection::wait_for_locks(milliseconds patience) {
  WireParams params;
  params.add_kept_literal(std::to_string(std::max<std::int64_t>(patience.count(), 1)));
  pipe_.send(texts_.patience, params);
}

void Connection::share_group(const LockName& group) {
  WireParams params;
  params.add_integer(number_of(group));
  pipe_.send(texts_.share_group, params);
}

void Connection::lock_group(const LockName& group) {
  WireParams params;
  params.add_integer(number_of(group));
  pipe_.send(texts_.lock_group, params);
}

void Connection::begin_look() {
  pipe_.begin_look();
  pipe_.send(texts_.begin_look, {});
  open_ = true;
}

void Connection::commit() {
  if (mark_) {
    pipe_.send(texts_.release, {});
    run();
    open_ = mark_ = false;
    return;
  }
  pipe_.send(texts_.commit, {});
  open_ = false;
  need_commit(run().back().get());
}

void Connection::roll_back() noexcept {
  if (!open_) return;
  const bool mark = std::exchange(mark_, false);
  open_ = false;
  try {
    if (mark) {
      // Not as a named statement: this must succeed.
      pipe_.send_once(texts_.back_to_mark);
      pipe_.send_once(texts_.release);
    } else {
      pipe_.send(texts_.roll_back, {});
    }
    pipe_.run(Loss::kNothingDone, deadline());
  } catch (...) {
    // The pipe knows that it is not whole.
  }
}

}  // namespace semel::postgres
