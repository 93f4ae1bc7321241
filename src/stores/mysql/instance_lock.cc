#include "stores/mysql/instance_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "stores/sql/pool.h"

namespace semel::mysql {
namespace {

constexpr std::chrono::milliseconds kLongestTurn{10'000};
constexpr std::chrono::milliseconds kTurnAfterStop{500};
constexpr const char* kReservation = "reserved";
// A replica that takes over may lack the last numbers that were drawn, and draws them again: an
// epoch is raised by more than it lacks. Yet epochs must last for as long as processes are started.
constexpr int kEpochs = 16;
// Short: the server limits the length of a lock's name.
constexpr const char* kSession = "s";

// Its queries are short, and other callers wait for their turn meanwhile.
Endpoint answered_soon(Endpoint endpoint) {
  endpoint.longest_answer = endpoint.patience + kLongestTurn;
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

// Databases of one server must not share its locks, whose names are short.
std::string lock_name(const char* kind, const std::string& number) {
  return fmt::format("CONCAT('semel.{}.', LEFT(SHA1(DATABASE()), 16), '.', {})", kind, number);
}

std::string session_lock(const std::string& instance, const std::string& session) {
  return lock_name(kSession, instance + ", '.', " + session);
}

std::string gone_sql() {
  return "SELECT number FROM semel_instance WHERE IS_FREE_LOCK(" + lock_name(kInstance, "number") +
         ") = 1";
}

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

InstanceLock::InstanceLock(Endpoint endpoint, const Dialect& dialect,
                           std::chrono::milliseconds grace, std::size_t wanted)
    : endpoint_(answered_soon(std::move(endpoint))),
      wanted_(wanted),
      grace_(grace),
      gone_(dialect, gone_sql()),
      is_gone_(dialect, gone_sql() + " AND number = ?1"),
      lives_(dialect, "SELECT 1 FROM information_schema.processlist WHERE IS_FREE_LOCK(" +
                          session_lock("?1", "id") + ") = 0 LIMIT 1"),
      share_(dialect, "SELECT GET_LOCK(" + session_lock("?1", "CONNECTION_ID()") + ", 0)"),
      known_(dialect, "SELECT number FROM semel_instance WHERE number = ?1 FOR UPDATE"),
      raise_(dialect, fmt::format("UPDATE semel_meta SET epoch = epoch + {}", kEpochs)),
      enter_(dialect,
             fmt::format("INSERT INTO semel_instance (number, pid, host, started_at) VALUES "
                         "(?1, ?2, ?3, {})",
                         endpoint_.clock)) {}

// Each call under the turn is bounded; together they are a few.
system::Deadline InstanceLock::turn_deadline() const noexcept {
  return {2 * endpoint_.longest_answer, endpoint_.stops, kTurnAfterStop};
}

Connection& InstanceLock::connected() {
  if (connection_ != nullptr && connection_->wire().alive()) return *connection_;
  number_ = 0;
  connection_.reset();
  failed_.check();
  failed_.watch([this]() SEMEL_REQUIRES(turn_) { open(); });
  return *connection_;
}

void InstanceLock::open() {
  try {
    connection_ = std::make_unique<Connection>(endpoint_);
    need_own_session();
    reserved_.begin_session(session_of("CONNECTION_ID()"));
    take_over_reservations();
    if (opened_) reopened_ = std::chrono::steady_clock::now();
    opened_ = true;
  } catch (const sql::Failure& failed) {
    // Some of its locks are not enough.
    connection_.reset();
    if (failed.error().code == "R254") throw sql::with_wanted(failed, wanted_);
    throw;
  }
}

void InstanceLock::need_own_session() {
  sql::Answer session = connection_->ask("SELECT CONNECTION_ID()");
  session.next();
  if (static_cast<unsigned long>(session.integer(0)) != connection_->wire().session()) {
    sql::fail({ErrorKind::kRejected, "R257",
               "a proxy stands before the MySQL server: locks of a session do not last behind it",
               "connect to the server itself, or let the proxy keep sessions"});
  }
}

// The session with this number, identified by properties that no other shares: a restarted server
// reuses numbers. Empty where there is none.
std::string InstanceLock::session_of(const std::string& id) {
  sql::Answer found = connection_->ask(
      fmt::format("SELECT CONCAT(s.id, ' ', COALESCE(p.host, '')) FROM (SELECT {} AS id) AS s LEFT "
                  "JOIN information_schema.processlist AS p ON p.id = s.id WHERE s.id IS NOT NULL",
                  id));
  return found.next() ? std::string(found.bytes(0)) : "";
}

// A session of this process that was cut off keeps its locks until the server notices: those are
// retried. Only another process's lock proves that the number is lost.
void InstanceLock::take_over_reservations() {
  for (const auto& [number, session] : reserved_.elsewhere()) {
    if (lock(kReservation, number)) {
      reserved_.move(number);
      continue;
    }
    const std::string holder = session_of(
        fmt::format("IS_USED_LOCK({})", lock_name(kReservation, std::to_string(number))));
    if (!holder.empty() && holder != session) reserved_.lose(number);
  }
}

bool InstanceLock::lock(const char* kind, std::int64_t number) {
  sql::Answer taken = connected().ask(
      fmt::format("SELECT GET_LOCK({}, 0)", lock_name(kind, std::to_string(number))));
  return taken.next() && taken.integer(0) == 1;
}

void InstanceLock::unlock(const char* kind, std::int64_t number) {
  if (connection_ == nullptr || !connection_->wire().alive()) return;
  connection_->ask(fmt::format("SELECT RELEASE_LOCK({})", lock_name(kind, std::to_string(number))));
}

void InstanceLock::unlock_freed() {
  const auto freed = reserved_.take_freed();
  try {
    for (const std::int64_t number : freed) unlock(kReservation, number);
  } catch (...) {
    // The end of the connection frees them all.
    connection_.reset();
    throw;
  }
}

std::int64_t InstanceLock::number() {
  const sql::TurnLock turn(turn_, turn_deadline());
  connected();
  if (number_ != 0) return number_;
  try {
    if (last_number_ == 0 || !still_known(last_number_)) last_number_ = enter();
  } catch (const sql::Failure&) {
    leave_reader();
    throw;
  }
  number_ = last_number_;
  return number_;
}

std::int64_t InstanceLock::number_for(sql::Session& session) {
  if (session.stands_for() == number()) return session.stands_for();
  // A new session may be at a server that has taken over while our own session is still at the old
  // one: there the epoch is unchanged, and tokens would repeat.
  look_alive();
  const std::int64_t instance = number();
  session.ask(share_, {instance});
  session.stand_for(instance);
  return instance;
}

void InstanceLock::look_alive() {
  const sql::TurnLock turn(turn_, turn_deadline());
  ask_alive();
}

void InstanceLock::ask_alive() {
  if (connection_ == nullptr || !connection_->wire().alive()) return;
  try {
    // Refused exactly where the server would refuse this user's writes. Waits for no lock.
    connection_->queue("START TRANSACTION READ WRITE");
    connection_->ask("ROLLBACK");
    take_over_reservations();
  } catch (const sql::Failure&) {
    if (!leave_reader() && connection_->wire().alive()) throw;
  }
}

bool InstanceLock::leave_reader() {
  if (connection_ == nullptr || !connection_->outdated()) return false;
  connection_.reset();
  number_ = 0;
  return true;
}

// After the connection was lost: no process has taken over what this one held. Locks the row, as a
// process that takes over does.
bool InstanceLock::still_known(std::int64_t number) {
  if (!lock(kInstance, number)) return false;
  Connection& connection = *connection_;
  try {
    connection.begin(endpoint_.patience);
    const bool there = connection.ask(known_, {number}).next();
    if (there) connection.queue(raise_, {});
    connection.commit();
    if (there) return true;
  } catch (...) {
    connection.roll_back();
    throw;
  }
  unlock(kInstance, number);
  return false;
}

// Locked before any process can read the number: one that reads it finds the lock. The epoch is
// raised with it: a server that lost its last writes, or its numbers, gives no token twice.
std::int64_t InstanceLock::enter() {
  Connection& connection = *connection_;
  const std::int64_t number = connection.next_number(sql::Counter::kInstance);
  if (!lock(kInstance, number)) {
    sql::fail({ErrorKind::kUnavailable, "R250", "the lock of a new instance is taken", {}});
  }
  const std::string host = host_name();
  try {
    connection.begin(endpoint_.patience);
    connection.queue(raise_, {});
    connection.queue(enter_, {number, ::getpid(), sql::Word{host}});
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
  return number;
}

bool InstanceLock::just_started(Connection& connection) const {
  sql::Answer uptime = connection.ask("SHOW GLOBAL STATUS LIKE 'Uptime'");
  const std::string seconds = uptime.next() ? uptime.bytes(1) : "";
  return std::chrono::seconds(std::atoll(seconds.c_str())) < grace_;
}

std::optional<std::int64_t> InstanceLock::judge(Connection& connection, Look look) {
  if (just_started(connection)) return std::nullopt;
  const sql::TurnLock turn(turn_, turn_deadline());
  if (opened_ && look == Look::kAsk) {
    try {
      ask_alive();
      connected();
    } catch (const sql::Failure&) {
      return std::nullopt;
    }
  }
  if (opened_ && (connection_ == nullptr || !connection_->wire().alive())) return std::nullopt;
  if (reopened_ && std::chrono::steady_clock::now() - *reopened_ < grace_) return std::nullopt;
  return last_number_;
}

bool InstanceLock::is_gone(sql::Session& session, std::int64_t instance) {
  auto& connection = static_cast<Connection&>(session);
  // In a transaction, whose locks others wait for; the sweep that called this has asked already.
  const auto own = judge(connection, Look::kAsKnown);
  return own && *own != instance && connection.ask(is_gone_, {instance}).next() &&
         !connection.ask(lives_, {instance}).next();
}

std::vector<std::int64_t> InstanceLock::gone(sql::Session& session) {
  auto& connection = static_cast<Connection&>(session);
  std::vector<std::int64_t> numbers;
  sql::Answer answer = connection.ask(gone_, {});
  while (answer.next()) numbers.push_back(answer.integer(0));
  std::erase_if(numbers, [&](std::int64_t n) { return connection.ask(lives_, {n}).next(); });
  // After the answer: our own session's server may be another one by then.
  const auto own = judge(connection, Look::kAsk);
  if (!own) return {};
  std::erase(numbers, *own);
  return numbers;
}

bool InstanceLock::lost(std::uint64_t name) {
  const std::int64_t number = reservation_number(name);
  if (reserved_.elsewhere().contains(number)) {
    const sql::TurnLock turn(turn_, turn_deadline());
    if (connection_ != nullptr && connection_->wire().alive()) take_over_reservations();
  }
  return reserved_.lost(number);
}

std::unique_ptr<Positions::Reservation> InstanceLock::try_take(std::uint64_t name) {
  const std::int64_t number = reservation_number(name);
  const sql::TurnLock turn(turn_, turn_deadline());
  connected();
  unlock_freed();
  if (reserved_.contains(number) || !lock(kReservation, number)) return nullptr;
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

}  // namespace semel::mysql
