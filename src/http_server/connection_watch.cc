#include "http_server/connection_watch.h"

#include <sys/socket.h>

#include <utility>

namespace semel::http {

namespace {

// How late a limit may be noticed.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

void send_last_words(int fd, const std::string& words) noexcept {
  if (words.empty()) return;
  // A client that does not take them learns of the end by the close alone.
  (void)::send(fd, words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

ConnectionWatch::ConnectionWatch(Options options)
    : options_(std::move(options)), thread_([this] { run(); }) {}

ConnectionWatch::~ConnectionWatch() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ConnectionWatch::opened(Id connection, int fd) {
  bool first = false;
  {
    const system::MutexLock lock(mutex_);
    first = connections_.empty();
    connections_[connection] = {fd, Phase::kIdle, Clock::now()};
  }
  if (first) changed_.notify_all();
}

void ConnectionWatch::closed(Id connection) {
  const system::MutexLock lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  if (found->second.phase == Phase::kAnswering && --answering_ == 0) changed_.notify_all();
  connections_.erase(found);
}

void ConnectionWatch::request_begins(Id connection) { enter(connection, Phase::kReceiving); }
void ConnectionWatch::request_came(Id connection) { enter(connection, Phase::kAnswering); }
void ConnectionWatch::request_ended(Id connection) { enter(connection, Phase::kIdle); }

void ConnectionWatch::enter(Id connection, Phase phase) {
  const system::MutexLock lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.phase == phase) return;
  const Phase before = std::exchange(found->second.phase, phase);
  found->second.since = Clock::now();
  if (phase == Phase::kAnswering) ++answering_;
  if (before == Phase::kAnswering && --answering_ == 0) changed_.notify_all();
}

std::size_t ConnectionWatch::connections() const {
  const system::MutexLock lock(mutex_);
  return connections_.size();
}

void ConnectionWatch::wait_answered(std::chrono::milliseconds deadline) {
  const system::MutexLock lock(mutex_);
  // The server's end cuts off those that are left then.
  (void)changed_.wait_for(mutex_, deadline,
                          [this]() SEMEL_REQUIRES(mutex_) { return answering_ == 0; });
}

void ConnectionWatch::run() {
  system::RelockableLock lock(mutex_);
  while (!ending_) {
    if (connections_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    (void)changed_.wait_until(mutex_, Clock::now() + kLook);
    look(Clock::now());
    if (options_.tick == nullptr || ending_) continue;
    lock.unlock();
    options_.tick();
    lock.lock();
  }
}

// The HTTP library finds the end of the connection when it reads next, and closes it.
void ConnectionWatch::look(Clock::time_point now) {
  for (auto& [id, connection] : connections_) {
    const bool receiving = connection.phase == Phase::kReceiving;
    if (!receiving && connection.phase != Phase::kIdle) continue;
    const auto limit = receiving ? options_.receive : options_.idle;
    if (now - connection.since < limit) continue;
    if (receiving) send_last_words(connection.fd, options_.last_words);
    ::shutdown(connection.fd, SHUT_RDWR);
    connection.phase = Phase::kCut;
  }
}

}  // namespace semel::http
