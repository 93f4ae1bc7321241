#include "stores/postgres/instance_lock.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/digest.h"
#include "stores/postgres/error_table.h"
#include "stores/postgres/pooler.h"
#include "stores/sql/pool.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAgain{500};
constexpr milliseconds kLongestTurn{10'000};
constexpr milliseconds kTurnAfterStop{500};
constexpr unsigned kBitsOfNumber = 32;

// Schemas of one database must not share advisory locks.
std::uint32_t tag_of(std::string_view schema, std::uint32_t kind) {
  const std::string number = std::to_string(kind);
  const std::array<BytesView, 2> parts = {schema, number};
  const digest::Short bits = digest::shortened(digest::sha256_parts("semel.postgres.lock", parts));
  std::uint32_t tag = 0;
  for (std::size_t i = 0; i < sizeof tag; ++i) tag = tag << 8U | bits[i];
  return tag;
}

Endpoint ended_by(Endpoint endpoint, int ending) {
  endpoint.stops[1] = ending;
  return endpoint;
}

std::int64_t reservation_number(std::uint64_t name) noexcept {
  return static_cast<std::int64_t>(name >> 1U);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

// Releases its lock when it is destroyed.
class InstanceLock::Taken final : public Positions::Reservation {
 public:
  Taken(InstanceLock& instance_lock, std::int64_t number)
      : instance_lock_(instance_lock), number_(number) {}
  ~Taken() override { instance_lock_.free_reservation(number_); }
  // As of the last check of its lock: made by a new session, and before a position is saved.
  bool lost() const noexcept override { return instance_lock_.reserved_.lost(number_); }

 private:
  InstanceLock& instance_lock_;
  std::int64_t number_;
};

std::string channel_of(const std::string& schema) {
  constexpr std::string_view kBeginning = "semel.";
  constexpr std::size_t kMost = 63;  // bytes: NAMEDATALEN without the final NUL
  const bool fits = kBeginning.size() + schema.size() <= kMost;
  return fmt::format("{}{}", kBeginning, fits ? schema : digest::sha1_hex(schema));
}

InstanceLock::InstanceLock(Endpoint endpoint, const Dialect& dialect, InstanceLockOptions options)
    : endpoint_(ended_by(std::move(endpoint), ending_.get())),
      prefix_(dialect.prefix()),
      channel_(channel_of(endpoint_.schema)),
      options_(options),
      gone_(dialect, gone_sql(endpoint_.schema, options.grace)),
      is_gone_(dialect, gone_sql(endpoint_.schema, options.grace) + " AND i.number = ?1"),
      share_(dialect, "SELECT pg_advisory_lock_shared(?1)"),
      notify_(dialect, "SELECT pg_notify(?1, ?2)") {
  if (options_.listens) listener_ = std::thread([this] { listen(); });
}

InstanceLock::~InstanceLock() {
  ending_.signal();
  if (listener_.joinable()) listener_.join();
  if (connection_ != nullptr) PQfinish(connection_);
}

std::int64_t InstanceLock::lock_key(Kind kind, std::int64_t number) const {
  const std::uint64_t tag = tag_of(endpoint_.schema, static_cast<std::uint32_t>(kind));
  const auto low = static_cast<std::uint32_t>(number);
  return static_cast<std::int64_t>(tag << kBitsOfNumber | low);
}

// Each call under the turn is bounded; together they are a few.
system::Deadline InstanceLock::turn_deadline() const noexcept {
  return {2 * (endpoint_.patience + kLongestTurn), endpoint_.stops, kTurnAfterStop};
}

ResultPtr InstanceLock::execute(const std::string& sql) {
  system::Deadline deadline = short_deadline(endpoint_);
  PGconn* const connection = connected();
  ResultPtr result;
  std::string lost = "it did not answer in time";
  try {
    result = exchange(connection, sql, deadline);
  } catch (const sql::Failure&) {
    lost = PQerrorMessage(connection);
  }
  if (result == nullptr) {
    disconnected();
    sql::fail(unreachable(lost), 1);
  }
  // Notifications read with the answer do not make the socket readable again.
  ring_heard();
  if (went_well(result.get())) return result;
  const bool reader = state_of(result.get()) == kReadOnly && !age_.young();
  if (reader || PQstatus(connection) == CONNECTION_BAD) disconnected();
  throw failure_of(result.get());
}

void InstanceLock::disconnected() noexcept {
  if (connection_ != nullptr) PQfinish(std::exchange(connection_, nullptr));
  number_ = 0;
}

PGconn* InstanceLock::connected() {
  if (connection_ != nullptr) return connection_;
  failed_.check();
  failed_.watch([this]() SEMEL_REQUIRES(turn_) { open(); });
  return connection_;
}

void InstanceLock::open() {
  try {
    connection_ = connect(endpoint_);
    age_ = sql::SessionAge();
    need_own_session(connection_, endpoint_);
    if (options_.listens) {
      execute("LISTEN " + quoted_name(channel_));
      // Notifications sent before LISTEN are lost.
      ring_all();
    }
    reserved_.begin_session(session_of("pg_backend_pid()"));
    take_over_reservations();
  } catch (const sql::Failure& failed) {
    disconnected();
    if (failed.error().code == "R254") throw sql::with_wanted(failed, options_.wanted);
    throw;
  }
  if (opened_) reopened_ = std::chrono::steady_clock::now();
  opened_ = true;
  wake_.signal();
}

bool InstanceLock::lock(Kind kind, std::int64_t number) {
  const ResultPtr result =
      execute(fmt::format("SELECT pg_try_advisory_lock({}::bigint)", lock_key(kind, number)));
  return std::string_view(PQgetvalue(result.get(), 0, 0)) == "t";
}

// The session with this number, identified by properties that no other shares: numbers are reused.
// Empty where there is none, or where it is ending.
std::string InstanceLock::session_of(const std::string& pid) {
  const ResultPtr found = execute(
      fmt::format("SELECT pid || COALESCE(' ' || extract(epoch FROM backend_start), '') FROM "
                  "pg_catalog.pg_stat_activity WHERE pid = {}",
                  pid));
  return PQntuples(found.get()) > 0 ? PQgetvalue(found.get(), 0, 0) : "";
}

// A session of this process that was cut off keeps its locks until the server notices: those are
// retried. Only another process's lock proves that the number is lost.
void InstanceLock::take_over_reservations() {
  for (const auto& [number, session] : reserved_.elsewhere()) {
    if (lock(Kind::kReservation, number)) {
      reserved_.move(number);
      continue;
    }
    const auto key = static_cast<std::uint64_t>(lock_key(Kind::kReservation, number));
    const std::string holder = session_of(fmt::format(
        "(SELECT pid FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND database = (SELECT "
        "oid FROM pg_catalog.pg_database WHERE datname = current_database()) AND classid = "
        "{}::oid AND objid = {}::oid AND objsubid = 1 AND granted)",
        key >> kBitsOfNumber, static_cast<std::uint32_t>(key)));
    if (!holder.empty() && holder != session) reserved_.lose(number);
  }
}

void InstanceLock::unlock(Kind kind, std::int64_t number) {
  if (connection_ == nullptr) return;
  execute(fmt::format("SELECT pg_advisory_unlock({}::bigint)", lock_key(kind, number)));
}

void InstanceLock::unlock_freed() {
  const auto freed = reserved_.take_freed();
  try {
    for (const std::int64_t number : freed) unlock(Kind::kReservation, number);
  } catch (...) {
    // The end of the connection frees them all.
    disconnected();
    throw;
  }
}

std::int64_t InstanceLock::number() {
  if (const std::int64_t known = number_.load(std::memory_order_acquire); known != 0) return known;
  const sql::TurnLock turn(turn_, turn_deadline());
  if (const std::int64_t known = number_.load(std::memory_order_acquire); known != 0) return known;
  connected();
  if (last_number_ == 0 || !still_known(last_number_)) last_number_ = enter();
  number_.store(last_number_, std::memory_order_release);
  return last_number_;
}

std::int64_t InstanceLock::number_for(sql::Session& session) {
  if (session.stands_for() == number()) return session.stands_for();
  // A new session may be at a server that has taken over while our own session is still at the old
  // one: there the epoch is unchanged, and tokens would repeat.
  look_alive();
  const std::int64_t instance = number();
  session.ask(share_, {lock_key(Kind::kSession, instance)});
  session.stand_for(instance);
  return instance;
}

void InstanceLock::look_alive() {
  const sql::TurnLock turn(turn_, turn_deadline());
  ask_alive();
}

void InstanceLock::ask_alive() {
  if (connection_ == nullptr) return;
  try {
    // Outside of a transaction: the mode of the next one. It is on in recovery too.
    const ResultPtr mode = execute("SELECT pg_catalog.current_setting('transaction_read_only')");
    if (std::string_view(PQgetvalue(mode.get(), 0, 0)) == "on") fail_for_reader();
    take_over_reservations();
  } catch (const sql::Failure&) {
    if (connection_ != nullptr) throw;
  }
}

void InstanceLock::fail_for_reader() {
  if (!age_.young()) disconnected();
  throw sql::Failure(error_of(kReadOnly, "transaction_read_only is on"), code_of(kReadOnly));
}

// After the connection was lost: no process has taken over what this one held. A process about to
// do so has locked the instance's row, and checks after that whether it is gone.
bool InstanceLock::still_known(std::int64_t number) {
  if (!lock(Kind::kInstance, number)) return false;
  const ResultPtr row = execute(
      fmt::format("WITH known AS (SELECT 1 FROM {0}semel_instance WHERE number = {1} FOR SHARE) "
                  "UPDATE {0}semel_meta SET epoch = epoch + 1 WHERE EXISTS (SELECT 1 FROM known) "
                  "RETURNING epoch",
                  prefix_, number));
  if (PQntuples(row.get()) > 0) return true;
  unlock(Kind::kInstance, number);
  return false;
}

// Locked before any process can read the number: one that reads it finds the lock. The epoch is
// raised with it: a server that lost its last writes, or its sequences, gives no token twice.
std::int64_t InstanceLock::enter() {
  const ResultPtr drawn =
      execute(fmt::format("SELECT nextval('{}semel_instance_number')", prefix_));
  const std::string_view text = PQgetvalue(drawn.get(), 0, 0);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  if (!lock(Kind::kInstance, number)) {
    sql::fail({ErrorKind::kUnavailable, "R250", "the lock of a new instance is taken", {}});
  }
  char* const host = PQescapeLiteral(connection_, host_name().c_str(), host_name().size());
  const std::string sql = fmt::format(
      "WITH e AS (UPDATE {0}semel_meta SET epoch = epoch + 1 RETURNING 1) INSERT INTO "
      "{0}semel_instance (number, pid, host, started_at) SELECT {1}, {2}, {3}, {4} FROM e",
      prefix_, number, ::getpid(), host != nullptr ? host : "''", endpoint_.clock);
  PQfreemem(host);
  execute(sql);
  return number;
}

// The instances whose locks are free.
std::string InstanceLock::gone_sql(std::string_view schema, milliseconds grace) {
  return fmt::format(
      "SELECT i.number FROM semel_instance AS i WHERE NOT EXISTS (SELECT 1 FROM "
      "pg_catalog.pg_locks AS l WHERE l.locktype = 'advisory' AND l.database = "
      "(SELECT oid FROM pg_catalog.pg_database WHERE datname = "
      "current_database()) AND l.classid IN ({}::oid, {}::oid) AND l.objid = "
      "i.number::oid AND l.objsubid = 1 AND l.granted) AND clock_timestamp() "
      "- pg_postmaster_start_time() > {} * interval '1 millisecond'",
      tag_of(schema, static_cast<std::uint32_t>(Kind::kInstance)),
      tag_of(schema, static_cast<std::uint32_t>(Kind::kSession)), grace.count());
}

std::optional<std::int64_t> InstanceLock::judge(Look look) {
  const sql::TurnLock turn(turn_, turn_deadline());
  // A server that ends the session says why first.
  while (connection_ != nullptr) {
    pollfd waiting{PQsocket(connection_), POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) break;
    hear();
  }
  if (opened_ && look == Look::kAsk) {
    try {
      ask_alive();
      connected();
    } catch (const sql::Failure&) {
      return std::nullopt;
    }
  }
  if (opened_ && connection_ == nullptr) return std::nullopt;
  if (reopened_ && std::chrono::steady_clock::now() - *reopened_ < options_.grace) {
    return std::nullopt;
  }
  return last_number_;
}

std::vector<std::int64_t> InstanceLock::gone(sql::Session& session) {
  std::vector<std::int64_t> numbers;
  sql::Answer answer = session.ask(gone_, {});
  while (answer.next()) numbers.push_back(answer.integer(0));
  // After the answer: our own session's server may be another one by then.
  const auto own = judge(Look::kAsk);
  if (!own) return {};
  std::erase(numbers, *own);
  return numbers;
}

bool InstanceLock::is_gone(sql::Session& session, std::int64_t instance) {
  // In a transaction, whose locks others wait for; the sweep that called this has asked already.
  const auto own = judge(Look::kAsKnown);
  return own && *own != instance && session.ask(is_gone_, {instance}).next();
}

bool InstanceLock::lost(std::uint64_t name) {
  const std::int64_t number = reservation_number(name);
  if (reserved_.elsewhere().contains(number)) {
    const sql::TurnLock turn(turn_, turn_deadline());
    if (connection_ != nullptr) take_over_reservations();
  }
  return reserved_.lost(number);
}

std::unique_ptr<Positions::Reservation> InstanceLock::try_take(std::uint64_t name) {
  const std::int64_t number = reservation_number(name);
  const sql::TurnLock turn(turn_, turn_deadline());
  unlock_freed();
  if (reserved_.contains(number) || !lock(Kind::kReservation, number)) return nullptr;
  reserved_.add(number);
  return std::make_unique<Taken>(*this, number);
}

void InstanceLock::free_reservation(std::int64_t number) noexcept {
  reserved_.free(number);
  try {
    const sql::TurnLock turn(turn_, turn_deadline());
    unlock_freed();
  } catch (...) {
    // The next reservation frees it, or the end of the connection.
  }
}

int InstanceLock::fd(std::optional<ConsumerNumber> consumer) noexcept {
  if (!options_.listens) return -1;
  try {
    // From here on the bell rings; rings for the beginning of the listening came before.
    const sql::TurnLock turn(turn_, turn_deadline());
    connected();
  } catch (...) {
    // The listener keeps trying.
  }
  if (!consumer) return bell_.get();
  try {
    const system::MutexLock lock(bells_mutex_);
    auto& bell = bells_[*consumer];
    if (!bell) bell = std::make_unique<system::EventFd>();
    return bell->get();
  } catch (...) {
    return -1;  // no descriptor is left: the caller polls instead
  }
}

void InstanceLock::drain(ConsumerNumber consumer) {
  const system::MutexLock lock(bells_mutex_);
  bell_.drain();
  const auto bell = bells_.find(consumer);
  if (bell != bells_.end()) bell->second->drain();
}

void InstanceLock::ring(sql::Session& session, ConsumerNumber consumer) {
  const std::string number = std::to_string(static_cast<std::uint32_t>(consumer));
  session.queue(notify_, {sql::Word{channel_}, sql::Word{number}});
}

void InstanceLock::ring_all() noexcept {
  const system::MutexLock lock(bells_mutex_);
  bell_.signal();
  for (auto& [consumer, bell] : bells_) bell->signal();
}

void InstanceLock::hear() noexcept {
  if (PQconsumeInput(connection_) == 0) return disconnected();
  ring_heard();
}

void InstanceLock::ring_heard() noexcept {
  while (PGnotify* const word = PQnotifies(connection_)) {
    std::uint32_t number = 0;
    const std::string_view text = word->extra;
    std::from_chars(text.data(), text.data() + text.size(), number);
    PQfreemem(word);
    const system::MutexLock lock(bells_mutex_);
    bell_.signal();
    const auto bell = bells_.find(ConsumerNumber{number});
    if (bell != bells_.end()) bell->second->signal();
  }
}

void InstanceLock::listen() {
  const auto ending = [this] {
    pollfd waiting{ending_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  };
  while (!ending()) {
    const int socket = listened_socket();
    std::array<pollfd, 3> waiting = {
        {{ending_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}, {socket, POLLIN, 0}}};
    const int patience = socket >= 0 ? -1 : static_cast<int>(kAgain.count());
    ::poll(waiting.data(), waiting.size(), patience);
    wake_.drain();
    try {
      const sql::TurnLock turn(turn_, turn_deadline());
      if (connection_ != nullptr && PQsocket(connection_) == socket) hear();
    } catch (const sql::Failure&) {
      // Another call waits for the server; its turn ends.
    }
  }
}

// -1: none.
int InstanceLock::listened_socket() noexcept {
  try {
    const sql::TurnLock turn(turn_, turn_deadline());
    const int socket = PQsocket(connected());
    if (last_number_ != 0 && number_ == 0 && still_known(last_number_)) {
      number_ = last_number_;
    }
    return socket;
  } catch (const sql::Failure&) {
    return -1;
  }
}

}  // namespace semel::postgres
