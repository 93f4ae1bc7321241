// RabbitmqPublisher: the calls that wait for their confirms, and the thread that owns the
// connection.
//
// Only the thread uses the connection: it keeps the heartbeat, publishes new calls, reads confirms,
// and reconnects when a call waits for that. A broker that is short of memory or disk reads
// nothing: then new calls wait here, as many as the consumer has in flight.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <semel/environment.h>
#include <semel/handler.h>

#include "core/rabbitmq_publish_spec.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "handlers/rabbitmq/answers.h"
#include "handlers/rabbitmq/confirm_channel.h"
#include "system/descriptor.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::rabbitmq {

class RabbitmqPublisher final : private ConfirmChannel::Watcher {
 public:
  RabbitmqPublisher(core::RabbitmqPublishSpec spec, Environment& environment);
  ~RabbitmqPublisher() override;

  void begin(const Message& message, const Attempt& attempt, Completion completion);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Ticket = handlers::InFlightCall::Ticket;
  struct Call final : handlers::InFlightCall {
    using InFlightCall::InFlightCall;
    Outgoing outgoing;
    std::uint64_t number = 0;  // of the channel's messages; 0: not sent
    std::string returned;      // why it was returned
  };

  // Thread-safe.
  void on_stop() noexcept SEMEL_EXCLUDES(mutex_);
  void cut() SEMEL_REQUIRES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  // Called on the thread; in publisher.cc.
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  bool take_news();
  void take_late();
  void give_up(Ticket ticket, bool stopped);
  void drop_silent() SEMEL_EXCLUDES(mutex_);

  // Called on the thread; in serve.cc.
  void connect() SEMEL_EXCLUDES(mutex_);
  void serve();
  Result<void> publish_waiting();
  Result<void> publish_one(Call& call) SEMEL_EXCLUDES(mutex_);
  void wait_for_something(std::chrono::milliseconds most);
  bool has_room() const;
  void lose(const Error& error) SEMEL_EXCLUDES(mutex_);
  void say_farewell() SEMEL_EXCLUDES(mutex_);
  std::chrono::milliseconds until_late() const;
  bool one_route() const noexcept { return spec_.route_of == nullptr; }
  void on_confirm(std::uint64_t number, bool multiple, bool taken) override;
  void on_return(ConfirmChannel::Returned returned) override;
  void on_blocked(std::optional<std::string> why) override;

  const core::RabbitmqPublishSpec spec_;
  Environment& environment_;
  system::EventFd wake_;
  handlers::InFlightCalls<Call> calls_;

  // Used by the thread only.
  std::unique_ptr<ConfirmChannel> channel_;
  std::deque<Ticket> waiting_;                 // not sent yet; some may have ended
  std::map<std::uint64_t, Ticket> numbers_;    // sent and not confirmed
  std::set<std::string, std::less<>> proven_;  // exchanges found on this connection
  std::string blocked_;                        // why the broker stopped reading; empty: it reads
  bool known_ = false;                         // it was connected at least once
  std::size_t silent_ = 0;                     // late calls since the last confirm
  std::size_t tries_ = 0;                      // attempts to connect, since it last worked
  TimePoint connected_at_{};
  TimePoint not_before_{};  // the next attempt

  system::Mutex mutex_;
  system::CondVar changed_;
  // the connection's socket, to end calls that wait on it
  system::Descriptor cutter_ SEMEL_GUARDED_BY(mutex_);
  // since when a message is being written
  std::optional<TimePoint> sending_ SEMEL_GUARDED_BY(mutex_);
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace semel::rabbitmq
