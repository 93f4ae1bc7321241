#include "stores/mysql/wire.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "stores/mysql/literal.h"
#include "system/descriptor_limit.h"

namespace semel::mysql {
namespace {

constexpr unsigned long kOldestMariaDb = 100'600;
constexpr unsigned long kOldestMySql = 80'001;
// Bytes of a packet in addition to its statement.
constexpr std::size_t kRoomInPacket = 1024;
// Larger packets are not delayed.
constexpr std::size_t kEnough = 1 << 20;

// Detects a vanished peer in time.
void watch_peer(int socket) {
  constexpr int kYes = 1, kIdle = 10, kInterval = 5, kCount = 3, kUnanswered = 20'000;
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, kYes);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kInterval);
  set(IPPROTO_TCP, TCP_KEEPCNT, kCount);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnanswered);
}

Refusal refusal_of(MYSQL* connection) {
  return {mysql_errno(connection), mysql_sqlstate(connection), mysql_error(connection)};
}

// In them a byte of a multi-byte character may look like a quote or a backslash.
constexpr std::string_view kAmbiguous[] = {"big5", "cp932", "gb18030", "gbk", "sjis"};

constexpr std::chrono::milliseconds kAfterStop{500};

// The library passes no user data to its callback for waiting on a socket.
thread_local system::Deadline* waits_for = nullptr;

class WaitScope {
 public:
  explicit WaitScope(system::Deadline& deadline) noexcept
      : before_(std::exchange(waits_for, &deadline)) {}
  ~WaitScope() { waits_for = before_; }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  system::Deadline* const before_;
};

// Returns what the library expects: one, or zero where the time is over.
int wait_io(my_socket socket, my_bool reads, int timeout) {
  system::Deadline without_end = Wire::kWithoutEnd;
  system::Deadline& deadline = waits_for != nullptr ? *waits_for : without_end;
  const auto at_most = timeout > 0 ? std::chrono::milliseconds(timeout) : system::Deadline::kNever;
  if (deadline.wait(static_cast<int>(socket), reads != 0 ? POLLIN : POLLOUT, at_most)) return 1;
  errno = ETIMEDOUT;
  return 0;
}

[[noreturn]] void fail_for_stop() {
  sql::fail(
      {ErrorKind::kUnavailable, "R250", "the process is to stop, and waits for no connection", {}},
      1);
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

bool is_number(enum_field_types type) noexcept {
  switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
      return true;
    default:
      return false;
  }
}

sql::Cell cell_of(const MYSQL_FIELD& field, const char* value, std::size_t size) {
  sql::Cell cell;
  if (value == nullptr) return cell;
  cell.null = false;
  const std::string_view text(value, size);
  if (is_number(field.type)) {
    std::from_chars(value, value + size, cell.number);
  } else if (field.type == MYSQL_TYPE_DATETIME || field.type == MYSQL_TYPE_TIMESTAMP) {
    cell.number = time_of(text).time_since_epoch().count();
  } else {
    cell.bytes = text;
  }
  return cell;
}

bool is_update(std::string_view statement) {
  constexpr std::string_view kUpdate = "update";
  statement.remove_prefix(std::min(statement.find_first_not_of(" \t\r\n"), statement.size()));
  return ascii::lower(statement.substr(0, kUpdate.size())) == kUpdate;
}

// "Rows matched: 3  Changed: 1  Warnings: 0", of an UPDATE. A borrowed session may have it in
// another language; the first number is the same.
std::size_t matched(MYSQL* connection, bool update) {
  constexpr std::string_view kMatched = "Rows matched: ";
  constexpr std::string_view kDigits = "0123456789";
  const char* const info = mysql_info(connection);
  const std::string_view text = info != nullptr ? info : "";
  const std::size_t number = text.find_first_of(kDigits);
  if (number != std::string_view::npos && (update || text.starts_with(kMatched))) {
    std::size_t rows = 0;
    std::from_chars(text.data() + number, text.data() + text.size(), rows);
    return rows;
  }
  const my_ulonglong changed = mysql_affected_rows(connection);
  return changed == static_cast<my_ulonglong>(-1) ? 0 : static_cast<std::size_t>(changed);
}

}  // namespace

void ResultDeleter::operator()(MYSQL_RES* result) const noexcept { mysql_free_result(result); }

std::string unique_mark(std::string_view prefix) {
  static std::atomic<std::uint64_t> last{0};
  return fmt::format("{}_{}", prefix, ++last);
}

sql::Failure failure_of(const Refusal& refusal) {
  return {error_of(refusal), static_cast<int>(refusal.code)};
}

sql::Answer answer_of(const Said& said) {
  if (said.rows == nullptr) return {{}, 0, said.changed};
  MYSQL_RES* const result = said.rows.get();
  const unsigned columns = mysql_num_fields(result);
  const MYSQL_FIELD* const fields = mysql_fetch_fields(result);
  const auto rows = static_cast<std::size_t>(mysql_num_rows(result));
  std::vector<sql::Cell> cells;
  cells.reserve(rows * columns);
  while (const MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const sizes = mysql_fetch_lengths(result);
    for (unsigned at = 0; at < columns; ++at) {
      cells.push_back(cell_of(fields[at], row[at], sizes[at]));
    }
  }
  return {std::move(cells), columns, rows};
}

Wire::Wire(const Target& target, const system::Deadline::Stops& stops) : owned_(true) {
  [[maybe_unused]] static const int ready = mysql_library_init(0, nullptr, nullptr);
  connection_ = mysql_init(nullptr);
  if (connection_ == nullptr) throw std::bad_alloc();
  try {
    set_options(target);
    connect(target, stops);
    set_up({std::chrono::seconds(target.connect_timeout), stops, kAfterStop});
  } catch (...) {
    mysql_close(connection_);
    throw;
  }
}

Wire::Wire(MYSQL* borrowed)
    : connection_(borrowed), owned_(false), mariadb_(mariadb_connection(borrowed) != 0) {
  need_known_server();
  send("SELECT @@max_allowed_packet, @@character_set_client");
  Answers answers = run(Loss::kNothingDone);
  if (answers.refused) throw failure_of(*answers.refused);
  sql::Answer facts = answer_of(answers.said.back());
  facts.next();
  most_ = static_cast<std::size_t>(facts.integer(0));
  const std::string characters = facts.bytes(1);
  if (std::ranges::find(kAmbiguous, characters) != std::end(kAmbiguous)) {
    sql::fail({ErrorKind::kRejected, "R208",
               fmt::format("the connection speaks {}, in which a character may hold the byte of a "
                           "quote",
                           characters),
               "SET NAMES utf8mb4 before it is borrowed"},
              1);
  }
}

Wire::~Wire() {
  if (owned_) mysql_close(connection_);
}

void Wire::connect(const Target& target, const system::Deadline::Stops& stops) {
  // The library bounds each of its waits by connect_timeout.
  system::Deadline deadline(system::Deadline::kNever, stops, kAfterStop);
  const WaitScope waiting(deadline);
  if (mysql_real_connect(connection_, or_null(target.host), target.user.c_str(),
                         target.password.c_str(), target.database.c_str(), target.port,
                         or_null(target.socket), CLIENT_MULTI_STATEMENTS) != nullptr) {
    return;
  }
  if (deadline.stopped()) fail_for_stop();
  auto none = system::descriptor_limit_now("the MySQL server");
  if (none) sql::fail(*std::move(none), 1);
  throw failure_of(refusal_of(connection_));
}

void Wire::set_options(const Target& target) {
  mysql_optionsv(connection_, MARIADB_OPT_IO_WAIT, reinterpret_cast<void*>(&wait_io));
  mysql_options(connection_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options(connection_, MYSQL_OPT_CONNECT_TIMEOUT, &target.connect_timeout);
  const unsigned protocol = target.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  mysql_options(connection_, MYSQL_OPT_PROTOCOL, &protocol);
  const my_bool local_files = 0;
  mysql_options(connection_, MYSQL_OPT_LOCAL_INFILE, &local_files);
  mysql_optionsv(connection_, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "semel");
  if (target.tls == Target::Tls::kOff) return;
  const my_bool yes = 1;
  const my_bool verify = target.tls == Target::Tls::kVerify ? 1 : 0;
  mysql_options(connection_, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_options(connection_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
  if (!target.tls_ca.empty()) mysql_options(connection_, MYSQL_OPT_SSL_CA, target.tls_ca.c_str());
  if (!target.tls_cert.empty()) {
    mysql_options(connection_, MYSQL_OPT_SSL_CERT, target.tls_cert.c_str());
    mysql_options(connection_, MYSQL_OPT_SSL_KEY, target.tls_key.c_str());
  }
}

void Wire::need_known_server() const {
  const unsigned long version = mysql_get_server_version(connection_);
  if (version >= (mariadb_ ? kOldestMariaDb : kOldestMySql)) return;
  sql::fail({ErrorKind::kRejected, "R258",
             fmt::format("the server is older than {}: {}", mariadb_ ? "MariaDB 10.6" : "MySQL 8.0",
                         mysql_get_server_info(connection_)),
             "use a newer server"},
            1);
}

// None of the server's settings may matter: the meaning of statements must not depend on them.
void Wire::set_up(const system::Deadline& deadline) {
  mariadb_ = mariadb_connection(connection_) != 0;
  need_known_server();
  watch_peer(static_cast<int>(mysql_get_socket(connection_)));
  send(fmt::format(
      "SET SESSION sql_mode = '{}', time_zone = '+00:00', "
      "lc_messages = 'en_US', autocommit = 1, completion_type = 0, sql_safe_updates = 0, "
      "sql_auto_is_null = 0, sql_select_limit = DEFAULT, lock_wait_timeout = 60, "
      "wait_timeout = 31536000, interactive_timeout = 31536000",
      kSqlMode));
  // A server may replace a client's character set by its own, or change it for each connection.
  send("SET NAMES utf8mb4");
  send("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  // The server ends a transaction that was idle for this long: its process hangs, or was stopped.
  if (mariadb_) send("SET SESSION idle_transaction_timeout = 300");
  // Otherwise it reports sizes that may be a day old.
  if (!mariadb_) send("SET SESSION information_schema_stats_expiry = 0");
  send("SELECT @@max_allowed_packet, @@log_bin, @@binlog_format");
  Answers answers;
  try {
    answers = run(Loss::kNothingDone, deadline);
  } catch (const sql::Failure&) {
    if (deadline_.stopped()) fail_for_stop();
    if (!deadline_.over()) throw;
    sql::fail({ErrorKind::kUnavailable, "R254",
               "the MySQL server, or the proxy before it, gives no session in time",
               "let it keep more sessions for this user, or lower store.mysql.pool"},
              1);
  }
  if (answers.refused) throw failure_of(*answers.refused);
  sql::Answer facts = answer_of(answers.said.back());
  facts.next();
  most_ = static_cast<std::size_t>(facts.integer(0));
  if (facts.integer(1) != 0) need_row_log(facts.bytes(2));
}

// InnoDB at READ COMMITTED writes nothing into a log of statements.
void Wire::need_row_log(std::string_view format) {
  if (format != "STATEMENT") return;
  send("SET SESSION binlog_format = 'ROW'");
  const Answers answers = run(Loss::kNothingDone);
  if (!answers.refused) return;
  sql::fail({ErrorKind::kRejected, "R269",
             fmt::format("the MySQL server logs statements (binlog_format = STATEMENT), and this "
                         "user may not log rows in its own sessions ({} {})",
                         answers.refused->code, answers.refused->said),
             "SET GLOBAL binlog_format = 'MIXED', or grant the user BINLOG ADMIN"},
            static_cast<int>(answers.refused->code));
}

bool Wire::takes(std::size_t size) const noexcept {
  return most_ == 0 || size + kRoomInPacket <= most_;
}

Error Wire::too_large(std::size_t size) const {
  return {
      ErrorKind::kLimit, "R200",
      fmt::format("a statement of {} bytes is more than the MySQL server takes: {}", size, most_),
      "raise max_allowed_packet on the server"};
}

void Wire::send(std::string_view statement, Loss loss, const system::Deadline& deadline) {
  need_nothing_unread();
  if (!handed_over_.empty()) take_back();
  if (!takes(statement.size())) sql::fail(too_large(statement.size()));
  const std::size_t enough = most_ != 0 ? std::min(kEnough, most_ / 2) : kEnough;
  const bool alone = !owned_;
  if (!packet_.empty() && (alone || packet_.size() + statement.size() > enough)) {
    deadline_ = deadline;
    flush(loss);
    deadline_ = kWithoutEnd;
  }
  if (!packet_.empty()) packet_ += "; ";
  packet_ += statement;
  ++sent_;
}

// Statements after a refusal are left out, as they would be in the same packet.
void Wire::flush(Loss loss) {
  if (broken_) lost(Loss::kNothingDone);
  const std::string packet = std::exchange(packet_, {});
  if (packet.empty() || answers_.refused) return;
  const WaitScope waiting(deadline_);
  updates_ = !owned_ && is_update(packet);
  if (!exchange(packet)) {
    if (deadline_.over()) lost(loss);
    return refuse(loss);
  }
  read_all(loss);
}

// Under TLS the library itself waits for data without a limit: so the first answer is awaited here.
bool Wire::exchange(const std::string& packet) {
  if (mysql_send_query(connection_, packet.data(), packet.size()) != 0) return false;
  if (!deadline_.wait(static_cast<int>(mysql_get_socket(connection_)), POLLIN)) return false;
  return mysql_read_query_result(connection_) == 0;
}

// An error of class 08 may be a proxy's that lost the server, after a commit was sent to that.
void Wire::refuse(Loss loss) {
  Refusal refusal = refusal_of(connection_);
  const bool unknown = refusal.state.starts_with("08") || may_be_replicated(refusal.code);
  if ((loss == Loss::kInDoubt && unknown) || is_lost(refusal.code)) lost(loss);
  if (only_reads(refusal.code)) refuses_writes_ = true;
  answers_.refused = std::move(refusal);
}

void Wire::read_all(Loss loss) {
  for (;;) {
    if (!read_one(loss)) return;
    const int more = mysql_next_result(connection_);
    if (more < 0) break;
    if (more == 0) continue;
    return refuse(loss);
  }
  // Otherwise a quote in a string of ours would end it.
  if (!owned_ || !takes_escapes()) return;
  broken_ = true;
  sql::fail({ErrorKind::kUnavailable, "R200", "the session's sql_mode was changed", {}}, 1);
}

// False where it was refused: for an INSERT … RETURNING the server reports that after the columns.
bool Wire::read_one(Loss loss) {
  Said said;
  if (mysql_field_count(connection_) == 0) {
    said.changed = matched(connection_, updates_);
    said.number = static_cast<std::int64_t>(mysql_insert_id(connection_));
  } else {
    said.rows.reset(mysql_store_result(connection_));
    if (said.rows == nullptr) {
      refuse(loss);
      return false;
    }
    said.changed = static_cast<std::size_t>(mysql_num_rows(said.rows.get()));
  }
  answers_.said.push_back(std::move(said));
  return true;
}

Answers Wire::run(Loss loss, const system::Deadline& deadline) {
  deadline_ = deadline;
  flush(loss);
  deadline_ = kWithoutEnd;
  sent_ = 0;
  return std::exchange(answers_, {});
}

void Wire::forget() noexcept {
  packet_.clear();
  sent_ = 0;
  answers_ = {};
  handed_over_.clear();
}

bool Wire::in_transaction() const noexcept {
  return !broken_ && (connection_->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

bool Wire::commits_each() const noexcept {
  return (connection_->server_status & SERVER_STATUS_AUTOCOMMIT) != 0;
}

bool Wire::takes_escapes() const noexcept {
  return (connection_->server_status & SERVER_STATUS_NO_BACKSLASH_ESCAPES) == 0;
}

// Results that the connection's owner has not read.
void Wire::need_nothing_unread() const {
  if (owned_) return;
  if (connection_->status == MYSQL_STATUS_READY && !mysql_more_results(connection_)) return;
  sql::fail({ErrorKind::kRejected, "R208", "an answer on the connection is not read to its end",
             "read it, or free it, before the connection is used by another"},
            1);
}

void Wire::end() noexcept {
  ::shutdown(static_cast<int>(mysql_get_socket(connection_)), SHUT_RDWR);
}

void Wire::hand_over() {
  const std::string mark = unique_mark("semel_work");
  send("SAVEPOINT " + mark);
  Answers answers = run(Loss::kNothingDone);
  if (answers.refused) throw told(*answers.refused);
  handed_over_ = mark;
}

// Returns to a savepoint that only this transaction has: after a deadlock the server has undone it,
// and later statements would commit by themselves.
void Wire::take_back() {
  const std::string mark = std::exchange(handed_over_, {});
  send("RELEASE SAVEPOINT " + mark);
  Answers answers = run(Loss::kNothingDone);
  if (!answers.refused) return;
  if (is_lost(answers.refused->code)) throw failure_of(*answers.refused);
  sql::fail({ErrorKind::kRejected, "R208",
             "the transaction that was open on the connection ended in the work: the server undid "
             "it, or it was committed or rolled back",
             "begin it again, and let the work neither commit nor roll back"},
            1);
}

sql::Failure Wire::told(const Refusal& refusal) {
  sql::Failure failed = failure_of(refusal);
  if (owned_ || broken_) return failed;
  // With a refusal the server does not report the session's state.
  constexpr std::string_view kNothing = "DO 0";
  if (mysql_real_query(connection_, kNothing.data(), kNothing.size()) != 0 || in_transaction()) {
    return failed;
  }
  return {
      {ErrorKind::kRejected, "R208",
       "the whole transaction that was open on the connection is undone: " + failed.error().message,
       "begin it again: nothing of it is left"},
      failed.code()};
}

unsigned long Wire::session() const noexcept { return mysql_thread_id(connection_); }

bool Wire::alive() const noexcept {
  if (broken_) return false;
  pollfd waiting{static_cast<int>(mysql_get_socket(connection_)), POLLIN, 0};
  // The server sends a message unasked only when it closes the connection.
  return ::poll(&waiting, 1, 0) == 0;
}

bool Wire::whole() const noexcept {
  return sent_ == 0 && answers_.said.empty() && !answers_.refused && !in_transaction() && alive();
}

void Wire::lost(Loss loss) {
  Refusal refusal = refusal_of(connection_);
  if (deadline_.over()) refusal = Refusal{CR_SERVER_LOST, {}, "it did not answer in time"};
  if (refusal.said.empty()) refusal.said = "the connection was lost before";
  broken_ = true;
  packet_.clear();
  sent_ = 0;
  answers_ = {};
  Error error = error_of(refusal);
  error.kind = ErrorKind::kUnavailable;
  if (!owned_) error.hint = "connect again, borrow that, and begin the transaction again";
  if (loss == Loss::kInDoubt) error.kind = ErrorKind::kInDoubt;
  throw sql::Failure(std::move(error), refusal.code != 0 ? static_cast<int>(refusal.code) : 1);
}

}  // namespace semel::mysql
