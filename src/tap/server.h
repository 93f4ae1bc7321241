// Server: lets taps in other processes watch a run while it works.
//
// One of several observers. While no tap is connected, an ending costs one relaxed load. Otherwise
// wanted endings are copied, and a thread of its own formats and sends them; endings that a tap is
// too slow for are counted and reported to it, and no thread waits for a tap.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <semel/observer.h>
#include <semel/result.h>

#include "system/event_fd.h"
#include "system/mutex.h"
#include "system/shared_mutex.h"
#include "tap/socket_directory.h"
#include "tap/subscriber.h"

namespace semel::tap {

class Connection;

struct ServerOptions {
  std::string database;                // its socket is next to it
  std::vector<std::string> consumers;  // that this process runs at first
  std::size_t most_waiting = 1 << 20;  // bytes kept for a tap that does not read
  std::chrono::milliseconds request_within{5'000};
  // How long the end of a run waits for a tap that does not read, and for one that keeps reading.
  std::chrono::milliseconds goodbye{200};
  std::chrono::milliseconds longest_goodbye{1'000};
};

// Thread-safe.
class Server final : public Observer {
 public:
  // Errors: R201, R290.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  // Sends waiting data to taps that read it immediately, and removes the socket.
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Sets the function for the figures of the run's sources; empty: none. It is called on the
  // server's thread, and no longer once a later call of serve_figures has returned.
  void serve_figures(std::function<Figures()> figures) SEMEL_EXCLUDES(figures_mutex_);
  // Sets the consumers that this process runs.
  void set_consumers(std::vector<std::string> consumers) SEMEL_EXCLUDES(figures_mutex_);

  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;

 private:
  Server(ServerOptions options, SocketDirectory place, SocketDirectory::Listening listening);

  void tell(const EndingView& event) noexcept SEMEL_EXCLUDES(mutex_);
  void loop();
  void accept_all();
  void attend(Connection& connection, short events);
  void welcome(Connection& connection, Request request) SEMEL_EXCLUDES(figures_mutex_, mutex_);
  void drop_ended() SEMEL_EXCLUDES(mutex_);
  void say_goodbye();

  const ServerOptions options_;
  const SocketDirectory place_;
  const SocketDirectory::Listening listening_;
  system::EventFd wake_;
  std::atomic<bool> closing_{false};

  // The number of subscribers: an ending checks it first, without the lock.
  std::atomic<std::size_t> watchers_{0};
  system::SharedMutex mutex_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_ SEMEL_GUARDED_BY(mutex_);

  system::Mutex figures_mutex_;
  std::function<Figures()> figures_ SEMEL_GUARDED_BY(figures_mutex_);
  std::vector<std::string> consumers_ SEMEL_GUARDED_BY(figures_mutex_);

  // Used by the thread only.
  std::vector<std::unique_ptr<Connection>> connections_;
  LineParser parser_;
  bool accepts_ = true;
  std::thread thread_;
};

}  // namespace semel::tap
