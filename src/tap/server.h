// Server: lets taps watch a run, from other processes, while it works.
//
// An observer beside the others. While nobody watches, an ending costs one relaxed load. Else those
// that are wanted are copied, and a thread of its own makes them lines and sends them; what a tap
// is too slow for is counted and told to it, and nobody waits for it.
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
#include "tap/place.h"
#include "tap/subscriber.h"

namespace semel::tap {

class Connection;

struct ServerOptions {
  std::string database;                // its socket stands beside it
  std::vector<std::string> consumers;  // that this process runs at first
  std::size_t most_waiting = 1 << 20;  // bytes kept for a tap that does not read
  std::chrono::milliseconds request_within{5'000};
  // How long the end of a run waits for a tap to read, and for one that reads and reads.
  std::chrono::milliseconds goodbye{200};
  std::chrono::milliseconds longest_goodbye{1'000};
};

// Safe for several threads.
class Server final : public Observer {
 public:
  // Errors: R201, R290.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  // Sends what waits to those that read it at once, and takes the socket away.
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // What is said of the run's sources from now on; empty: nothing. It is asked on the server's
  // thread, and not any more when this has returned.
  void serve_figures(std::function<Figures()> figures) SEMEL_EXCLUDES(figures_mutex_);
  // The consumers that this process runs from now on.
  void set_consumers(std::vector<std::string> consumers) SEMEL_EXCLUDES(figures_mutex_);

  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;

 private:
  Server(ServerOptions options, Place place, Place::Listening listening);

  void tell(const EndingView& ending) noexcept SEMEL_EXCLUDES(mutex_);
  void loop();
  void accept_all();
  void attend(Connection& connection, short events);
  void welcome(Connection& connection, Request request) SEMEL_EXCLUDES(figures_mutex_, mutex_);
  void drop_ended() SEMEL_EXCLUDES(mutex_);
  void say_goodbye();

  const ServerOptions options_;
  const Place place_;
  const Place::Listening listening_;
  system::EventFd wake_;
  std::atomic<bool> closing_{false};

  // How many subscribers there are: what an ending looks at first, without the lock.
  std::atomic<std::size_t> watchers_{0};
  system::SharedMutex mutex_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_ SEMEL_GUARDED_BY(mutex_);

  system::Mutex figures_mutex_;
  std::function<Figures()> figures_ SEMEL_GUARDED_BY(figures_mutex_);
  std::vector<std::string> consumers_ SEMEL_GUARDED_BY(figures_mutex_);

  // Of the thread alone.
  std::vector<std::unique_ptr<Connection>> connections_;
  LineParser parser_;
  bool accepts_ = true;
  std::thread thread_;
};

}  // namespace semel::tap
