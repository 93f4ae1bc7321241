// Opens a connection to a PostgreSQL server.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/passwords.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/error_table.h"
#include "stores/postgres/host_list.h"
#include "system/descriptor_limit.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kOldestServer = 120'000;
constexpr int kFirstWithIdleSessionTimeout = 140'000;
// The server ends a transaction that was idle for this long: its process hangs, or was stopped.
constexpr const char* kIdleInTransaction = "300s";
constexpr seconds kConnectTimeout{10};
constexpr milliseconds kConnectAfterStop{500};
constexpr std::string_view kProtocolViolation = "08P01";

// The user's parameters in the URL replace these. With them a vanished peer is noticed in time.
constexpr const char* kDefaults[][2] = {{"keepalives_idle", "10"},
                                        {"keepalives_interval", "5"},
                                        {"keepalives_count", "3"},
                                        {"tcp_user_timeout", "20000"},
                                        {"fallback_application_name", "semel"}};
// These replace settings of the URL, the environment, the role or the database.
constexpr const char* kAlways[][2] = {{"client_encoding", "UTF8"}};

struct Closer {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using Opening = std::unique_ptr<PGconn, Closer>;

// The library's own message repeats the URL, or a part of it.
void check_url(const std::string& url) {
  char* said = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), &said), &PQconninfoFree);
  if (options != nullptr) return;
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

// `hosts`: replace those in the URL; null: those.
Opening begin_opening(const std::string& url, const HostList* hosts) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto add = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  for (const auto& [name, value] : kDefaults) add(name, value);
  add("dbname", url.c_str());
  for (const auto& [name, value] : kAlways) add(name, value);
  const std::string names_of_hosts = hosts != nullptr ? hosts->hosts() : "";
  const std::string addresses = hosts != nullptr ? hosts->host_addresses() : "";
  const std::string ports = hosts != nullptr ? hosts->ports() : "";
  if (!names_of_hosts.empty()) add("host", names_of_hosts.c_str());
  if (!addresses.empty()) add("hostaddr", addresses.c_str());
  if (!ports.empty()) add("port", ports.c_str());
  add(nullptr, nullptr);
  Opening connection(PQconnectStartParams(names.data(), values.data(), 1));
  if (connection == nullptr) throw std::bad_alloc();
  return connection;
}

// For libpq zero and less mean that there is no limit; here there always is one.
seconds limit_of(PGconn* connection) {
  const std::string text = option_of(connection, "connect_timeout");
  int limit = 0;
  std::from_chars(text.data(), text.data() + text.size(), limit);
  return limit > 0 ? seconds(limit) : kConnectTimeout;
}

bool is_state(std::string_view text) noexcept {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

struct Said {
  std::string_view state;  // empty: the server has not answered
  std::string_view words;
};

// "…: FATAL:  28P01: words", in whatever language FATAL and the words are. The last address that
// was tried comes last.
Said read_verbose(std::string_view message) noexcept {
  constexpr std::string_view kBefore = ":  ";
  constexpr std::string_view kBehind = ": ";
  constexpr std::size_t kLength = 5;
  Said said{{}, message};
  for (std::size_t at = message.find(kBefore); at != std::string_view::npos;
       at = message.find(kBefore, at + 1)) {
    const std::string_view rest = message.substr(at + kBefore.size());
    if (rest.size() < kLength + kBehind.size() || !is_state(rest.substr(0, kLength))) continue;
    if (!rest.substr(kLength).starts_with(kBehind)) continue;
    const std::string_view words = rest.substr(kLength + kBehind.size());
    said = {rest.substr(0, kLength), words.substr(0, words.find('\n'))};
  }
  return said;
}

// A failed connection has no result: the SQLSTATE is in its verbose message.
Error refusal_of(PGconn* connection) {
  const std::string message = PQerrorMessage(connection);
  const Said said = read_verbose(message);
  if (said.state == kProtocolViolation && !option_of(connection, "options").empty()) {
    return {ErrorKind::kRejected, "R257",
            fmt::format("what stands before the PostgreSQL server refuses what the address sets "
                        "in options ({} {})",
                        said.state, said.words),
            "take options out of store.postgres.url and PGOPTIONS, or let the pooler ignore it "
            "(PgBouncer: ignore_startup_parameters = options)"};
  }
  if (!said.state.empty()) return error_of(said.state, said.words);
  // The library's own error: a password was requested, and there is none.
  if (PQconnectionNeedsPassword(connection) != 0) return error_of("28000", said.words);
  return unreachable(said.words);
}

[[noreturn]] void fail_for_stop() {
  sql::fail(unreachable("the process is to stop, and waits for no connection"), 1);
}

std::string current_address(PGconn* connection) {
  return fmt::format("{} {} {}", PQhost(connection), PQhostaddr(connection), PQport(connection));
}

// Each address of the server has the whole `limit`, as with PQconnectdb. False where one that had
// accepted became silent: then the library does not try the next one by itself.
bool finish_opening(PGconn* connection, const Endpoint& endpoint, seconds limit) {
  const auto fresh = [&] { return system::Deadline(limit, endpoint.stops, kConnectAfterStop); };
  system::Deadline deadline = fresh();
  std::string address = current_address(connection);
  bool silent = false;
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED || PQstatus(connection) == CONNECTION_BAD) {
      if (silent) return false;
      auto none = system::descriptor_limit_now("the PostgreSQL server");
      throw sql::Failure(none ? *std::move(none) : refusal_of(connection), 1);
    }
    if (!deadline.wait(PQsocket(connection), next == PGRES_POLLING_READING ? POLLIN : POLLOUT)) {
      if (deadline.stopped()) fail_for_stop();
      // The library tries the next address when this one fails.
      silent = true;
      ::shutdown(PQsocket(connection), SHUT_RDWR);
    }
    next = PQconnectPoll(connection);
    if (std::string now = current_address(connection); now != address) {
      address = std::move(now);
      silent = false;
      deadline = fresh();
    }
  }
  return true;
}

Opening opened(const Endpoint& endpoint, const HostList* among) {
  Opening connection = begin_opening(endpoint.url, among);
  HostList hosts(connection.get());
  for (;;) {
    const seconds limit = limit_of(connection.get());
    PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
    if (finish_opening(connection.get(), endpoint, limit)) break;
    if (!hosts.drop_current(connection.get())) {
      sql::fail(unreachable(fmt::format("no answer within {} s", limit.count())), 1);
    }
    connection = begin_opening(endpoint.url, &hosts);
  }
  PQsetErrorVerbosity(connection.get(), PQERRORS_DEFAULT);
  return connection;
}

std::string settings_of(PGconn* connection, const Endpoint& endpoint) {
  // Statements are planned once for a session, which may begin on empty tables: a plan that scans
  // whole tables would be kept when they are large.
  std::string sql = fmt::format(
      "SET lock_timeout = {}; SET idle_in_transaction_session_timeout = '{}'; "
      "SET default_transaction_isolation = 'read committed'; SET jit = off; "
      "SET client_min_messages = error; SET bytea_output = hex; SET extra_float_digits = 1; "
      "SET enable_seqscan = off; SET client_encoding = 'UTF8'; "
      // Otherwise a backslash in a string of a handler's statement would be an escape.
      "SET standard_conforming_strings = on",
      std::max<std::int64_t>(endpoint.patience.count(), 1), kIdleInTransaction);
  // A session that waits for work is no leak.
  if (PQserverVersion(connection) >= kFirstWithIdleSessionTimeout) {
    sql += "; SET idle_session_timeout = 0";
  }
  return sql;
}

// A pooler accepts a client before it has a session for it.
void set_up(PGconn* connection, const Endpoint& endpoint, seconds limit) {
  system::Deadline deadline(limit, endpoint.stops, kConnectAfterStop);
  const ResultPtr result = exchange(connection, settings_of(connection, endpoint), deadline);
  if (result != nullptr) {
    if (went_well(result.get())) return;
    throw failure_of(result.get());
  }
  if (deadline.stopped()) fail_for_stop();
  sql::fail({ErrorKind::kUnavailable, "R254",
             fmt::format("the PostgreSQL server, or the pooler before it, gives no session within "
                         "{} s",
                         limit.count()),
             "let it keep more sessions for this user, or lower store.postgres.pool"},
            1);
}

// `hosts`: as in begin_opening.
Opening ready(const Endpoint& endpoint, const HostList* hosts) {
  Opening connection = opened(endpoint, hosts);
  if (PQserverVersion(connection.get()) < kOldestServer) {
    sql::fail({ErrorKind::kRejected, "R258", "the PostgreSQL server is older than version 12",
               "use a newer server"},
              1);
  }
  PQsetNoticeReceiver(
      connection.get(), [](void*, const PGresult*) {}, nullptr);
  set_up(connection.get(), endpoint, limit_of(connection.get()));
  return connection;
}

bool takes_writes(PGconn* connection, const Endpoint& endpoint) {
  system::Deadline deadline(limit_of(connection), endpoint.stops, kConnectAfterStop);
  const ResultPtr mode = exchange(connection, "SHOW transaction_read_only", deadline);
  if (mode == nullptr) sql::fail(unreachable("it did not answer in time"), 1);
  return went_well(mode.get()) && std::string_view(PQgetvalue(mode.get(), 0, 0)) == "off";
}

// Null where none of them takes writes, or the rest cannot be reached.
Opening writer_among(HostList hosts, const Endpoint& endpoint) {
  try {
    for (;;) {
      Opening one = ready(endpoint, &hosts);
      if (takes_writes(one.get(), endpoint)) return one;
      if (!hosts.drop_current(one.get())) return nullptr;
    }
  } catch (const sql::Failure&) {
    return nullptr;
  }
}

}  // namespace

// libpq uses the first server that answers, which may be a former primary. Where none takes writes,
// that one is used: it can be read.
PGconn* connect(const Endpoint& endpoint) {
  check_url(endpoint.url);
  Opening first = ready(endpoint, nullptr);
  HostList others(first.get());
  const bool any = option_of(first.get(), "target_session_attrs") == "any";
  if (any && others.drop_current(first.get()) && !takes_writes(first.get(), endpoint)) {
    if (Opening writer = writer_among(std::move(others), endpoint)) return writer.release();
  }
  return first.release();
}

system::Deadline short_deadline(const Endpoint& endpoint) noexcept {
  return {endpoint.patience + kConnectTimeout, endpoint.stops, kConnectAfterStop};
}

}  // namespace semel::postgres
