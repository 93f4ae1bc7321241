#include "stores/mysql/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// The server counts in seconds; less than one would be none.
std::int64_t seconds_of(milliseconds patience) {
  return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(patience).count(), 1);
}

}  // namespace

Connection::Connection(const Place& place) : place_(place), wire_(place.target) {
  wait_for(place.patience);
  run();
}

void Connection::wait_for(milliseconds patience) {
  const std::int64_t seconds = seconds_of(patience);
  if (seconds == waits_) return;
  queue(fmt::format("SET SESSION innodb_lock_wait_timeout = {}", seconds));
  waits_ = seconds;
}

std::vector<Said> Connection::run() {
  Answers answers = wire_.run(loss());
  if (answers.refused) throw failure_of(*answers.refused);
  return std::move(answers.said);
}

void Connection::queue(const sql::Text& text, std::initializer_list<sql::Param> params) {
  queue(filled(text.sql(), {params.begin(), params.size()}));
}

sql::Answer Connection::ask(const sql::Text& text, std::initializer_list<sql::Param> params) {
  return ask(filled(text.sql(), {params.begin(), params.size()}));
}

sql::Answer Connection::ask(const std::string& own) {
  queue(own);
  return answer_of(run().back());
}

// The row goes at once: what it leaves is the number, which is given once.
void Connection::draw() {
  queue("INSERT INTO semel_number VALUES (NULL)");
  queue("DELETE FROM semel_number WHERE number = LAST_INSERT_ID()");
}

std::int64_t Connection::next_number(sql::Counter counter) {
  if (counter == sql::Counter::kConsumer || counter == sql::Counter::kInstance) {
    // Few, and small: a consumer's has to fit into its keys.
    queue("INSERT INTO semel_small_number VALUES (NULL)");
    queue("DELETE FROM semel_small_number WHERE number = LAST_INSERT_ID()");
    const auto said = run();
    return said[said.size() - 2].number;
  }
  if (next_ == numbers_end_) {
    draw();
    const auto said = run();
    next_ = drawn(said[said.size() - 2]);
    numbers_end_ = next_ + kNumbers;
  }
  const std::int64_t number = next_++;
  // Numbers grow with time: what a transaction does not use is not kept for a later one.
  if (!open_) numbers_end_ = next_;
  return number;
}

StoreTime Connection::now() {
  sql::Answer answer = ask("SELECT " + place_.clock);
  answer.next();
  return answer.time(0);
}

void Connection::begin(milliseconds patience) {
  numbers_end_ = next_;
  open_ = true;
  wait_for(patience);
  queue("START TRANSACTION");
}

void Connection::begin_look() {
  open_ = true;
  queue("START TRANSACTION READ ONLY");
}

void Connection::commit() { commit_all(); }

std::vector<Said> Connection::commit_all() {
  queue("COMMIT");
  // The answer to what is in the same packet may be lost with that to the commit.
  Answers answers = wire_.run(Loss::kInDoubt);
  if (answers.refused) throw failure_of(*answers.refused);
  open_ = false;
  return std::move(answers.said);
}

void Connection::roll_back() noexcept {
  if (!open_) return;
  open_ = false;
  try {
    // What waits to be run is not worth it any more.
    wire_.forget();
    wire_.send("ROLLBACK");
    wire_.run(Loss::kNothingDone);
  } catch (...) {
    // The wire knows that it is not whole.
  }
}

}  // namespace semel::mysql
