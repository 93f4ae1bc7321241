#include "stores/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <utility>

#include "base/passwords.h"
#include "stores/postgres/error_table.h"
#include "system/descriptor_limit.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

constexpr int kOldestServer = 120'000;
constexpr std::size_t kMostAtOnce = 128;
// A transaction that stands still for so long is another's to do: its process hangs, or was
// stopped.
constexpr const char* kIdleInTransaction = "300s";

// What the user's own words in the URL may say otherwise: a peer that vanished is noticed in time.
constexpr const char* kDefaults[][2] = {
    {"connect_timeout", "10"},     {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},  {"keepalives_count", "3"},
    {"tcp_user_timeout", "20000"}, {"fallback_application_name", "semel"}};

// Statements are planned once for a session, which may begin on empty tables: a plan that reads
// them whole would be kept when they are large.
void set_up(PGconn* connection, const Place& place) {
  const std::string sql = fmt::format(
      "SET lock_timeout = {}; SET idle_in_transaction_session_timeout = '{}'; "
      "SET default_transaction_isolation = 'read committed'; SET jit = off; "
      "SET client_min_messages = error; SET bytea_output = hex; SET extra_float_digits = 1; "
      "SET enable_seqscan = off",
      std::max<std::int64_t>(place.patience.count(), 1), kIdleInTransaction);
  const ResultPtr result(PQexec(connection, sql.c_str()));
  if (!went_well(result.get())) throw failure_of(result.get());
}

// A connection that failed has no SQLSTATE; its message has what the server said.
Error refusal_of(PGconn* connection) {
  const std::string said = PQerrorMessage(connection);
  const auto says = [&](const char* words) { return said.find(words) != std::string::npos; };
  if (says("password") || says("authentication") || says("pg_hba") ||
      (says("role \"") && says("does not exist"))) {
    return error_of("28000", said);
  }
  if (says("database \"") && says("does not exist")) return error_of("3D000", said);
  if (says("too many clients") || says("remaining connection slots")) {
    return error_of("53300", said);
  }
  if (says("starting up") || says("shutting down") || says("recovery mode")) {
    return error_of("57P03", said);
  }
  return unreachable(said);
}

// The library's own words repeat the URL, or a part of it.
void check_url(const std::string& url) {
  char* said = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &said);
  if (options != nullptr) {
    PQconninfoFree(options);
    return;
  }
  const std::string why = said != nullptr ? said : "out of memory";
  PQfreemem(said);
  const bool shows = !passwords_in(url).empty();
  sql::fail({ErrorKind::kRejected, "R259",
             shows ? "the address of the PostgreSQL database cannot be read"
                   : fmt::format("the address of the PostgreSQL database cannot be read ({})",
                                 why.substr(0, why.find_last_not_of('\n') + 1)),
             "write store.postgres.url as postgresql://user@host/database; what is special in a "
             "password as %40"});
}

}  // namespace

PGconn* connect(const Place& place) {
  check_url(place.url);
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : kDefaults) {
    names.push_back(name);
    values.push_back(value);
  }
  // Last, and so it has the last word.
  names.push_back("dbname");
  values.push_back(place.url.c_str());
  names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* const connection = PQconnectdbParams(names.data(), values.data(), 1);
  const auto refuse = [&](Error error) {
    PQfinish(connection);
    sql::fail(std::move(error), 1);
  };
  if (connection == nullptr) throw std::bad_alloc();
  if (PQstatus(connection) != CONNECTION_OK) {
    auto none = system::descriptor_limit_now("the PostgreSQL server");
    refuse(none ? *std::move(none) : refusal_of(connection));
  }
  if (PQserverVersion(connection) < kOldestServer) {
    refuse({ErrorKind::kRejected, "R258", "the PostgreSQL server is older than version 12",
            "use a newer server"});
  }
  PQsetNoticeReceiver(
      connection, [](void*, const PGresult*) {}, nullptr);
  try {
    set_up(connection, place);
  } catch (...) {
    PQfinish(connection);
    throw;
  }
  return connection;
}

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

Connection::Connection(const Place& place, const Dialect& dialect, const SessionTexts& texts)
    : dialect_(dialect),
      texts_(texts),
      usual_patience_(place.patience),
      pipe_(connect(place), true) {}

Connection::Connection(PGconn* borrowed, const Dialect& dialect, const SessionTexts& texts)
    : dialect_(dialect), texts_(texts), usual_patience_(0), pipe_(borrowed, false) {}

std::vector<ResultPtr> Connection::run() {
  // Outside of a transaction each segment commits by itself.
  auto segments = pipe_.run(open_ ? Loss::kNothingDone : Loss::kInDoubt);
  std::vector<ResultPtr> all;
  for (Pipe::Segment& segment : segments) {
    for (ResultPtr& result : segment.results) {
      if (!went_well(result.get())) throw failure_of(result.get());
      all.push_back(std::move(result));
    }
  }
  return all;
}

void Connection::queue(const sql::Text& text, std::initializer_list<sql::Param> params) {
  WireParams wire;
  for (const sql::Param& param : params) wire.add(param);
  queue(text, wire);
}

sql::Answer Connection::ask(const sql::Text& text, std::initializer_list<sql::Param> params) {
  queue(text, params);
  return answer_of(run().back().get());
}

sql::Answer Connection::ask(const sql::Text& text, const WireParams& params) {
  queue(text, params);
  return answer_of(run().back().get());
}

sql::Answer Connection::ask_planned(const sql::Text& text, const WireParams& params) {
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
  mark_ = borrowed() && PQtransactionStatus(pipe_.connection()) != PQTRANS_IDLE;
  pipe_.send(mark_ ? texts_.mark : texts_.begin, {});
  // How long its owner waits for locks is its owner's to say.
  if (!borrowed() && patience != usual_patience_) wait_for_locks(patience);
  open_ = true;
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
      pipe_.send(texts_.back_to_mark, {});
      pipe_.send(texts_.release, {});
    } else {
      pipe_.send(texts_.roll_back, {});
    }
    pipe_.run(Loss::kNothingDone);
  } catch (...) {
    // The pipe knows that it is not whole.
  }
}

}  // namespace semel::postgres
