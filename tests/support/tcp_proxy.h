// TcpProxy: sits between clients and a server and injects faults of a network. It has one thread,
// and listens on a free port of 127.0.0.1.
//
//   TcpProxy proxy(server.port());
//   // The server commits, and the client gets no answer.
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

// Thread-safe. Injected faults apply to existing and future connections.
class TcpProxy {
 public:
  enum class Side { kClient, kServer };
  enum class Then {
    kLose,      // it and all that follows is dropped: the connection is cut
    kCut,       // it is forwarded, then the connection is cut
    kWithhold,  // it is forwarded, the other side's data from then on are not: the connection is
                // cut when the answer has arrived
    kStall,     // it is forwarded, then nothing either way; clear() ends it
  };
  struct Fault {
    Side heard = Side::kClient;
    // The trigger, on one connection: this text, in any number of pieces; or without a text this
    // many bytes, after which no byte is forwarded before a kLose, kCut or kStall. With a text,
    // everything that arrived together with it is forwarded.
    std::string text = {};
    std::size_t bytes = 0;
    Then then = Then::kCut;
    // For kWithhold: a text of the answer that triggers it; if empty, any byte does.
    std::string answer = {};
    // The time between the trigger and the cut.
    std::chrono::milliseconds wait{0};
    bool reset = true;      // how the client is cut off: by RST, or by FIN; the server is by FIN
    std::size_t times = 1;  // on this many connections
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
  // Removes all faults and resumes stalled connections. Their counts remain.
  void clear();
  std::size_t fired(FaultId fault) const;
  // False where it took too long.
  bool wait_fired(FaultId fault, std::size_t times = 1) const;

  // Each piece arrives so much later, both ways.
  void delay(std::chrono::milliseconds by);
  // While it refuses, new connections are refused as if the port were closed. Existing ones remain.
  void refuse(bool refuses);
  // Cuts all connections by RST.
  void cut_all();

  std::size_t connections() const;  // in total
  std::size_t refusals() const;     // that could not be connected to the server
  // How often a server answered after its client had sent something.
  std::size_t round_trips() const;

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
  std::size_t round_trips_ = 0;
  std::size_t refusals_ = 0;
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace semel::test
