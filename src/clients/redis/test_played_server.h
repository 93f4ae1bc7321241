// PlayedServer: a server played by the test. It accepts one client, and answers each piece that it
// receives with the next of its lines, whatever was asked.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "clients/redis/url.h"
#include "tests/support/server_address.h"

namespace semel::redis {

class PlayedServer {
 public:
  // The answer to a client that logs in without a password.
  static std::string welcome(const std::string& info = "redis_version:7.0.0\r\nrun_id:life\r\n") {
    return "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n+OK\r\n";
  }

  // After its last line it resets the connection. `pause`: before each byte that it sends.
  explicit PlayedServer(std::vector<std::string> lines, std::chrono::milliseconds pause = {})
      : lines_(std::move(lines)), pause_(pause), thread_([this] { play(); }) {}
  ~PlayedServer() {
    ::shutdown(listener_.fd.get(), SHUT_RDWR);  // if no client came
    if (thread_.joinable()) thread_.join();
  }
  PlayedServer(const PlayedServer&) = delete;
  PlayedServer& operator=(const PlayedServer&) = delete;

  Target target() const { return target_of("redis://127.0.0.1:" + std::to_string(listener_.port)); }
  // Returns when it has sent everything or its client has hung up; true in the second case.
  bool was_left_early() {
    thread_.join();
    return left_early_;
  }

 private:
  void play() {
    const system::Descriptor client(::accept(listener_.fd.get(), nullptr, nullptr));
    if (!client.valid()) return;
    const linger at_once{1, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    for (const std::string& line : lines_) {
      char heard[1 << 16];
      if (::recv(client.get(), heard, sizeof heard, 0) <= 0) return;
      if (!say(client.get(), line)) return;
    }
  }
  bool say(int client, const std::string& line) {
    if (pause_.count() == 0) return ::send(client, line.data(), line.size(), MSG_NOSIGNAL) > 0;
    for (const char& byte : line) {
      std::this_thread::sleep_for(pause_);
      char heard = 0;
      const bool silent = ::recv(client, &heard, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
      left_early_ = !silent || ::send(client, &byte, 1, MSG_NOSIGNAL) < 0;
      if (left_early_) return false;
    }
    return true;
  }

  const std::vector<std::string> lines_;
  const std::chrono::milliseconds pause_;
  bool left_early_ = false;
  const test::OwnListener listener_ = test::own_listener();
  std::thread thread_;
};

}  // namespace semel::redis
