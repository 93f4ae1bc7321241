// InstanceLock: one connection for as long as the store is open. Its locks prove to other processes
// that this one lives, and on it the server sends notifications of new rows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stores/postgres/connection.h"
#include "stores/postgres/pq.h"
#include "stores/sql/failed_connect.h"
#include "stores/sql/instances.h"
#include "stores/sql/positions.h"
#include "stores/sql/reserved_numbers.h"
#include "stores/sql/session_age.h"
#include "stores/sql/turn.h"
#include "stores/sql/wake_ups.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::postgres {

struct InstanceLockOptions {
  bool listens = true;
  // For this long after the server's start, and after this process lost its session and got
  // another, no instance counts as gone: all may have lost their locks with it, and are
  // reconnecting.
  std::chrono::milliseconds grace{10'000};
  std::size_t wanted = 1;  // of this process, including this one
};

// The channel on which the stores of a schema wake each other: NOTIFY takes no name as long as a
// schema's may be.
std::string channel_of(const std::string& schema);

class InstanceLock final : public sql::Instances, public sql::WakeUps, public sql::Reservations {
 public:
  InstanceLock(Endpoint endpoint, const Dialect& dialect, InstanceLockOptions options);
  ~InstanceLock() override;

  std::int64_t number() override;
  std::int64_t number_for(sql::Session& session) override;
  std::vector<std::int64_t> gone(sql::Session& session) override;
  bool is_gone(sql::Session& session, std::int64_t instance) override;

  int fd(std::optional<ConsumerNumber> consumer) noexcept override;
  void drain(ConsumerNumber consumer) override;
  void ring(sql::Session& session, ConsumerNumber consumer) override;

  std::unique_ptr<Positions::Reservation> try_take(std::uint64_t name) override;
  bool lost(std::uint64_t name) override;

 private:
  class Taken;
  enum class Kind : std::uint32_t { kInstance = 1, kReservation = 2, kSession = 3 };

  PGconn* connected() SEMEL_REQUIRES(turn_);
  ResultPtr execute(const std::string& sql) SEMEL_REQUIRES(turn_);
  void open() SEMEL_REQUIRES(turn_);
  system::Deadline turn_deadline() const noexcept;
  bool lock(Kind kind, std::int64_t number) SEMEL_REQUIRES(turn_);
  void unlock(Kind kind, std::int64_t number) SEMEL_REQUIRES(turn_);
  static std::string gone_sql(std::string_view schema, std::chrono::milliseconds grace);
  std::string session_of(const std::string& pid) SEMEL_REQUIRES(turn_);
  void take_over_reservations() SEMEL_REQUIRES(turn_);
  void unlock_freed() SEMEL_REQUIRES(turn_);
  void hear() noexcept SEMEL_REQUIRES(turn_);
  void ring_heard() noexcept SEMEL_REQUIRES(turn_) SEMEL_EXCLUDES(bells_mutex_);
  std::int64_t lock_key(Kind kind, std::int64_t number) const;
  // One round trip on our own session: afterwards it is known whether it was lost, and whether its
  // server still takes writes.
  void look_alive() SEMEL_EXCLUDES(turn_);
  void ask_alive() SEMEL_REQUIRES(turn_);
  // Throws, and ends our own session unless it is young.
  [[noreturn]] void fail_for_reader() SEMEL_REQUIRES(turn_);
  std::int64_t enter() SEMEL_REQUIRES(turn_);
  bool still_known(std::int64_t number) SEMEL_REQUIRES(turn_);
  void disconnected() noexcept SEMEL_REQUIRES(turn_);
  // kAsk: with a round trip on our own session, which is opened if necessary: a server may have
  // been replaced unnoticed. kAsKnown: without waiting.
  enum class Look { kAsk, kAsKnown };
  // The instance that never counts as gone here: our own; zero where there is none. nullopt where
  // no lock of another proves anything.
  std::optional<std::int64_t> judge(Look look) SEMEL_EXCLUDES(turn_);

  void listen() SEMEL_EXCLUDES(turn_);
  int listened_socket() noexcept SEMEL_EXCLUDES(turn_);
  void ring_all() noexcept SEMEL_EXCLUDES(bells_mutex_);
  void free_reservation(std::int64_t number) noexcept SEMEL_EXCLUDES(turn_);

  system::EventFd ending_;
  const Endpoint endpoint_;
  const std::string prefix_;
  const std::string channel_;
  const InstanceLockOptions options_;
  const sql::SqlText gone_;
  const sql::SqlText is_gone_;
  const sql::SqlText share_;
  const sql::SqlText notify_;

  sql::Turn turn_;
  PGconn* connection_ SEMEL_GUARDED_BY(turn_) = nullptr;
  std::int64_t last_number_ SEMEL_GUARDED_BY(turn_) = 0;  // the last number it had; zero: none
  sql::SessionAge age_ SEMEL_GUARDED_BY(turn_);           // of our own session
  bool opened_ SEMEL_GUARDED_BY(turn_) = false;           // once
  std::optional<std::chrono::steady_clock::time_point> reopened_ SEMEL_GUARDED_BY(turn_);
  sql::FailedConnect failed_ SEMEL_GUARDED_BY(turn_);
  sql::ReservedNumbers reserved_;
  std::atomic<std::int64_t> number_{0};  // zero: not registered on this connection

  system::Mutex bells_mutex_;
  system::EventFd bell_;
  std::map<ConsumerNumber, std::unique_ptr<system::EventFd>> bells_ SEMEL_GUARDED_BY(bells_mutex_);

  system::EventFd wake_;
  std::thread listener_;
};

}  // namespace semel::postgres
