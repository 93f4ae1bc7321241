#include "stores/mysql/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/digest.h"
#include "stores/mysql/instance_lock.h"
#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// How long one of our own statements may take once the process is to stop.
constexpr milliseconds kLongestAfterStop{5'000};

// The server counts in seconds; less than one would be zero.
std::int64_t seconds_of(milliseconds patience) {
  return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(patience).count(), 1);
}

// Short: the server limits the length of a lock's name.
std::string group_lock(const LockName& group) {
  constexpr std::size_t kBytes = 8;
  const BytesView name = digest::view(std::span(group.bytes).first(kBytes));
  return lock_name("g", fmt::format("'{}'", digest::hex(name)));
}

}  // namespace

Connection::Connection(const Endpoint& endpoint)
    : endpoint_(endpoint), wire_(endpoint.target, endpoint.stops) {
  wait_for(endpoint.patience);
  run();
}

Connection::Connection(const Endpoint& endpoint, st_mysql* borrowed)
    : endpoint_(endpoint), wire_(borrowed) {}

system::Deadline Connection::deadline() const noexcept {
  return {endpoint_.longest_answer, endpoint_.stops, kLongestAfterStop};
}

void Connection::need_transaction() const {
  if (wire_.in_transaction() || !wire_.commits_each()) return;
  sql::fail({ErrorKind::kRejected, "R208", "no transaction is open on the connection",
             "say START TRANSACTION first, then COMMIT when the work is done"},
            1);
}

void Connection::hand_back() {
  run();
  if (open_) wire_.hand_over();
}

void Connection::wait_for(milliseconds patience) {
  if (borrowed()) return;
  const std::int64_t seconds = seconds_of(patience);
  if (seconds == waits_) return;
  queue(fmt::format("SET SESSION innodb_lock_wait_timeout = {}", seconds));
  waits_ = seconds;
}

std::vector<Said> Connection::run() {
  Answers answers = wire_.run(loss(), deadline());
  if (answers.refused) throw wire_.told(*answers.refused);
  return std::move(answers.said);
}

void Connection::queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  queue(filled(text.sql(), {params.begin(), params.size()}, literals()));
}

sql::Answer Connection::ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  return ask(filled(text.sql(), {params.begin(), params.size()}, literals()));
}

sql::Answer Connection::ask(const std::string& own) {
  queue(own);
  return answer_of(run().back());
}

// The row is deleted immediately: only its number is needed, which is assigned once.
void Connection::draw() {
  queue("INSERT INTO semel_number VALUES (NULL)");
  queue("DELETE FROM semel_number WHERE number = LAST_INSERT_ID()");
}

std::int64_t Connection::next_number(sql::Counter counter) {
  if (counter == sql::Counter::kConsumer || counter == sql::Counter::kInstance) {
    // Few, and small: a consumer's number has to fit into its keys.
    queue("INSERT INTO semel_small_number VALUES (NULL)");
    queue("DELETE FROM semel_small_number WHERE number = LAST_INSERT_ID()");
    const auto said = run();
    return said[said.size() - 2].number;
  }
  Numbers& numbers = counter == sql::Counter::kInbox ? inbox_numbers_ : held_numbers_;
  if (numbers.next == numbers.end) {
    draw();
    const auto said = run();
    numbers.next = drawn(said[said.size() - 2]);
    numbers.end = numbers.next + kNumbers;
  }
  const std::int64_t number = numbers.next++;
  if (!open_) held_numbers_.forget();
  return number;
}

StoreTime Connection::now() {
  sql::Answer answer = ask("SELECT " + endpoint_.clock);
  answer.next();
  return answer.time(0);
}

void Connection::begin(milliseconds patience) {
  // Waiting rows are shown in the order of their numbers, so those grow with time: numbers that a
  // transaction does not use are not kept for a later one. Inbox rows are ordered by the time of
  // arrival.
  held_numbers_.forget();
  // Its owner may have rolled back what drew them, and a replica then assigns them again.
  if (borrowed()) inbox_numbers_.forget();
  if (borrowed() && (wire_.in_transaction() || !wire_.commits_each())) return begin_inside();
  open_ = true;
  wait_for(patience);
  queue("START TRANSACTION");
}

// Runs immediately: what the server last said of the session may be outdated.
void Connection::begin_inside() {
  if (!wire_.in_transaction()) queue("START TRANSACTION");
  const std::string mark = unique_mark("semel_unit");
  queue("SAVEPOINT " + mark);
  Answers answers = wire_.run(Loss::kNothingDone, deadline());
  if (answers.refused) throw wire_.told(*answers.refused);
  open_ = true;
  mark_ = mark;
}

void Connection::begin_look() {
  open_ = true;
  queue("START TRANSACTION READ ONLY");
}

void Connection::lock_group(const LockName& group) {
  constexpr int kSeconds = 1;
  sql::Answer taken = ask(fmt::format("SELECT GET_LOCK({}, {})", group_lock(group), kSeconds));
  if (taken.next() && taken.integer(0) == 1) return;
  sql::fail({ErrorKind::kBlocked,
             "R206",
             "another process has a transaction of the consumer that does not end",
             {}},
            1);
}

void Connection::free_group(const LockName& group) noexcept {
  try {
    ask(fmt::format("SELECT RELEASE_LOCK({})", group_lock(group)));
  } catch (...) {
    // The wire knows that it is not whole.
  }
}

void Connection::commit() { commit_all(); }

std::vector<Said> Connection::commit_all() {
  if (!mark_.empty()) {
    queue("RELEASE SAVEPOINT " + mark_);
    std::vector<Said> said = run();
    open_ = false;
    mark_.clear();
    return said;
  }
  // Independent of the session's completion_type.
  queue(borrowed() ? "COMMIT AND NO CHAIN NO RELEASE" : "COMMIT");
  // The answers to statements in the same packet may be lost with that to the commit.
  Answers answers = wire_.run(Loss::kInDoubt, deadline());
  if (answers.refused) throw failure_of(*answers.refused);
  open_ = false;
  return std::move(answers.said);
}

void Connection::roll_back() noexcept {
  if (!open_) return;
  inbox_numbers_.forget();
  open_ = false;
  const std::string mark = std::exchange(mark_, {});
  try {
    // Queued statements need not run any more. One of them may have set the lock wait.
    wire_.forget();
    waits_ = 0;
    if (!mark.empty()) return back_to(mark);
    wire_.send(borrowed() ? "ROLLBACK AND NO CHAIN NO RELEASE" : "ROLLBACK");
    wire_.run(Loss::kNothingDone, deadline());
  } catch (...) {
    // The wire knows that it is not whole. Its owner's commit must not keep what cannot be undone.
    if (borrowed()) wire_.end();
  }
}

void Connection::back_to(const std::string& mark) {
  // The server has undone the whole transaction, with its savepoints.
  constexpr unsigned kNoSuchMark = 1305;
  wire_.send("ROLLBACK TO SAVEPOINT " + mark);
  wire_.send("RELEASE SAVEPOINT " + mark);
  const Answers answers = wire_.run(Loss::kNothingDone, deadline());
  if (answers.refused && answers.refused->code != kNoSuchMark) wire_.end();
}

}  // namespace semel::mysql
