// ConnectionWatch: cuts off connections that take too long to send a request.
//
// The HTTP library restarts its own limit with each byte, so that a client which sends a byte now
// and then would keep a connection for ever. These limits count from the first byte.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <unordered_map>

#include "system/mutex.h"

namespace semel::http {

// Thread-safe. One thread checks all connections, while there are some.
class ConnectionWatch {
 public:
  struct Options {
    std::chrono::milliseconds idle{0};     // from a connection, or an answer, to the next request
    std::chrono::milliseconds receive{0};  // from the first line of a request to its last byte
    // Sent to a client whose request is incomplete; empty: nothing.
    std::string last_words;
    std::function<void()> tick;  // called now and then while there are connections
  };

  // Throws std::system_error where its thread cannot be started.
  explicit ConnectionWatch(Options options);
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  using Id = const void*;
  // `fd` stays open until `closed`.
  void opened(Id connection, int fd) SEMEL_EXCLUDES(mutex_);
  void closed(Id connection) SEMEL_EXCLUDES(mutex_);
  void request_begins(Id connection) SEMEL_EXCLUDES(mutex_);
  void request_came(Id connection) SEMEL_EXCLUDES(mutex_);
  void request_ended(Id connection) SEMEL_EXCLUDES(mutex_);

  std::size_t connections() const SEMEL_EXCLUDES(mutex_);
  // Waits until every request that arrived is answered, at most for `deadline`.
  void wait_answered(std::chrono::milliseconds deadline) SEMEL_EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kIdle, kReceiving, kAnswering, kCut };
  struct Connection {
    int fd = -1;
    Phase phase = Phase::kIdle;
    Clock::time_point since;
  };

  void enter(Id connection, Phase phase) SEMEL_EXCLUDES(mutex_);
  void run() SEMEL_EXCLUDES(mutex_);
  void look(Clock::time_point now) SEMEL_REQUIRES(mutex_);

  const Options options_;
  mutable system::Mutex mutex_;
  system::CondVar changed_;
  std::unordered_map<Id, Connection> connections_ SEMEL_GUARDED_BY(mutex_);
  std::size_t answering_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Sends the bytes that the socket accepts immediately: a client that is cut off is not waited for.
void send_last_words(int fd, const std::string& words) noexcept;

}  // namespace semel::http
