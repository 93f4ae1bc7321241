// InstanceLock: one connection for as long as the store is open. Its locks prove to other processes
// that this one lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/mysql/connection.h"
#include "stores/sql/failed_connect.h"
#include "stores/sql/instances.h"
#include "stores/sql/positions.h"
#include "stores/sql/reserved_numbers.h"
#include "stores/sql/turn.h"
#include "stores/sql/wake_ups.h"

namespace semel::mysql {

// The name of a server's lock, as an expression; `number` is one too.
inline constexpr const char* kInstance = "instance";
std::string lock_name(const char* kind, const std::string& number);
// The lock of one of an instance's sessions, by the numbers of both: locks cannot be shared here,
// so each session has its own.
std::string session_lock(const std::string& instance, const std::string& session);

class InstanceLock final : public sql::Instances, public sql::WakeUps, public sql::Reservations {
 public:
  // `grace`: for this long after the server's start, and after this process lost its session and
  // got another, no instance counts as gone: all may have lost their locks with it, and are
  // reconnecting. `wanted`: sessions of this process, including this one.
  InstanceLock(Endpoint endpoint, const Dialect& dialect, std::chrono::milliseconds grace,
               std::size_t wanted = 1);

  std::int64_t number() override;
  std::int64_t number_for(sql::Session& session) override;
  std::vector<std::int64_t> gone(sql::Session& session) override;
  bool is_gone(sql::Session& session, std::int64_t instance) override;

  // The server sends no notifications of new rows.
  int fd(std::optional<ConsumerNumber>) noexcept override { return -1; }
  void drain(ConsumerNumber) override {}
  void ring(sql::Session&, ConsumerNumber) override {}

  std::unique_ptr<Positions::Reservation> try_take(std::uint64_t name) override;
  bool lost(std::uint64_t name) override;

 private:
  class Taken;

  Connection& connected() SEMEL_REQUIRES(turn_);
  void open() SEMEL_REQUIRES(turn_);
  void need_own_session() SEMEL_REQUIRES(turn_);
  std::string session_of(const std::string& id) SEMEL_REQUIRES(turn_);
  void take_over_reservations() SEMEL_REQUIRES(turn_);
  system::Deadline turn_deadline() const noexcept;
  bool lock(const char* kind, std::int64_t number) SEMEL_REQUIRES(turn_);
  void unlock(const char* kind, std::int64_t number) SEMEL_REQUIRES(turn_);
  void unlock_freed() SEMEL_REQUIRES(turn_);
  // One round trip on our own session: afterwards it is known whether it was lost, and whether its
  // server still takes writes.
  void look_alive() SEMEL_EXCLUDES(turn_);
  void ask_alive() SEMEL_REQUIRES(turn_);
  // Ends our own session where it is outdated. False where it is not.
  bool leave_reader() SEMEL_REQUIRES(turn_);
  std::int64_t enter() SEMEL_REQUIRES(turn_);
  bool still_known(std::int64_t number) SEMEL_REQUIRES(turn_);

  // kAsk: with a round trip on our own session, which is opened if necessary: a server may have
  // been replaced unnoticed. kAsKnown: without waiting.
  enum class Look { kAsk, kAsKnown };
  // The instance that never counts as gone here: our own; zero where there is none. nullopt where
  // no lock of another proves anything.
  std::optional<std::int64_t> judge(Connection& connection, Look look) SEMEL_EXCLUDES(turn_);
  bool just_started(Connection& connection) const;
  void free_reservation(std::int64_t number) noexcept SEMEL_EXCLUDES(turn_);

  const Endpoint endpoint_;
  const std::size_t wanted_;
  const std::chrono::milliseconds grace_;
  const sql::SqlText gone_;
  const sql::SqlText is_gone_;
  const sql::SqlText lives_;
  const sql::SqlText share_;
  const sql::SqlText known_;
  const sql::SqlText raise_;
  const sql::SqlText enter_;

  sql::Turn turn_;
  std::unique_ptr<Connection> connection_ SEMEL_GUARDED_BY(turn_);
  // zero: not registered on this connection
  std::int64_t number_ SEMEL_GUARDED_BY(turn_) = 0;
  std::int64_t last_number_ SEMEL_GUARDED_BY(turn_) = 0;  // the last number it had; zero: none
  bool opened_ SEMEL_GUARDED_BY(turn_) = false;           // once
  std::optional<std::chrono::steady_clock::time_point> reopened_ SEMEL_GUARDED_BY(turn_);
  sql::FailedConnect failed_ SEMEL_GUARDED_BY(turn_);
  sql::ReservedNumbers reserved_;
};

}  // namespace semel::mysql
