// RabbitmqPublisher: the calls that wait for their confirms, and the thread that has the
// connection.
//
// The thread alone touches the connection: it keeps the heartbeat, publishes what was begun, reads
// confirms, and connects again where a call waits for it. A broker that is short of memory or disk
// reads nothing: what is begun then waits here, as much as the consumer has in flight.
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
    std::uint64_t number = 0;  // of the channel's messages; 0: it was not sent
    std::string returned;      // why it came back
  };

  // From any thread.
  void on_stop() noexcept SEMEL_EXCLUDES(mutex_);
  void cut() SEMEL_REQUIRES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  // The thread's, in publisher.cc.
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  bool take_news();
  void take_late();
  void give_up(Ticket ticket, bool stopped);
  void drop_silent() SEMEL_EXCLUDES(mutex_);

  // The thread's, in serve.cc.
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

  // The thread's.
  std::unique_ptr<ConfirmChannel> channel_;
  std::deque<Ticket> waiting_;                 // not sent yet; some may have ended
  std::map<std::uint64_t, Ticket> numbers_;    // sent and not confirmed
  std::set<std::string, std::less<>> proven_;  // exchanges that were there on this connection
  std::string blocked_;                        // why the broker reads nothing; empty: it does
  bool known_ = false;                         // it was connected, at least once
  std::size_t silent_ = 0;                     // calls that were late since anything was confirmed
  std::size_t tries_ = 0;                      // to connect, since the last time it worked
  TimePoint connected_at_{};
  TimePoint not_before_{};  // of the next try

  system::Mutex mutex_;
  system::CondVar changed_;
  // the connection's socket, to end what waits on it
  system::Descriptor cutter_ SEMEL_GUARDED_BY(mutex_);
  // since when a message is being written
  std::optional<TimePoint> sending_ SEMEL_GUARDED_BY(mutex_);
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace semel::rabbitmq
