// TcpProxy: stands between clients and a server and does to them what a network may do. One thread,
// on a free port of 127.0.0.1.
//
//   TcpProxy proxy(server.port());
//   // The server commits; nobody is told.
//   const auto lost = proxy.inject({.text = "COMMIT", .then = TcpProxy::Then::kWithhold});
//   ...
//   EXPECT_EQ(proxy.fired(lost), 1U);
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "system/descriptor.h"
#include "system/event_fd.h"

namespace semel::test {

// Its methods may be called from any thread. What was injected holds for the connections there are
// and for those to come.
class TcpProxy {
 public:
  enum class Side { kClient, kServer };
  enum class Then {
    kLose,      // it does not go through, nor does what follows it: the connection is cut
    kCut,       // it goes through, then the connection is cut
    kWithhold,  // it goes through, what the other side says from then on does not: the connection
                // is cut when that has answered
    kStall,     // it goes through, then nothing does either way; clear() ends it
  };
  struct Fault {
    Side heard = Side::kClient;
    // What has to be said on one connection: this text, in however many pieces; or without a text
    // so many bytes, and then no byte more goes through before a kLose, kCut or kStall. With a text
    // all goes through that came along with it.
    std::string text = {};
    std::size_t bytes = 0;
    Then then = Then::kCut;
    // Of kWithhold: what the other side's answer holds; without it any byte is one.
    std::string answer = {};
    // Between what happened and the cut.
    std::chrono::milliseconds wait{0};
    bool reset = true;      // how the client is cut off: by RST, or by FIN; the server is by FIN
    std::size_t times = 1;  // on so many connections
  };
  using FaultId = std::size_t;

  // The server's port of 127.0.0.1, or its unix socket.
  explicit TcpProxy(int port);
  explicit TcpProxy(std::string socket);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const noexcept { return port_; }

  FaultId inject(Fault fault);
  // Takes back all faults, and lets go on what stalls. Their counts stay.
  void clear();
  std::size_t fired(FaultId fault) const;
  // False where it took too long.
  bool wait_fired(FaultId fault, std::size_t times = 1) const;

  // Each piece arrives so much later, both ways.
  void delay(std::chrono::milliseconds by);
  // Who comes while it refuses is told that nobody listens. Those who are there stay.
  void refuse(bool refuses);
  // By RST.
  void cut_all();

  std::size_t connections() const;  // that ever came
  std::size_t refusals() const;     // that came and could not be connected to the server

 private:
  struct Armed;
  struct End;
  struct Connection;
  using Clock = std::chrono::steady_clock;

  TcpProxy(int server_port, std::string socket);
  system::Descriptor connect_to_server() const;
  void listen();
  void wake();
  void serve();
  void wait_for_events(std::unique_lock<std::mutex>& lock);
  Clock::time_point work_on(Connection& connection);
  void accept_one();
  void read_from(Connection& connection, Side side);
  void hear(Connection& connection, Side side, std::string_view bytes);
  void strike(Connection& connection, Armed& armed, std::string_view bytes, std::size_t kept);
  bool passes(Connection& connection, Side side, std::string_view bytes);
  void write_to(End& end);
  void cut(Connection& connection, bool reset);

  const int server_port_;
  const std::string server_socket_;
  int port_ = 0;
  system::EventFd wake_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  system::Descriptor listener_;
  std::vector<Armed> faults_;
  std::list<Connection> open_;
  std::chrono::milliseconds delay_{0};
  std::size_t connections_ = 0;
  std::size_t refusals_ = 0;
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace semel::test
