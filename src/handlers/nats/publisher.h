// NatsPublisher: the calls that wait for their stream's answer, and the thread that owns the
// connection.
//
// Only the thread publishes: new calls, without waiting for the answers to earlier ones. It takes
// answers, and reconnects when a call waits for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <semel/environment.h>
#include <semel/handler.h>

#include "core/nats_publish_spec.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "handlers/nats/answers.h"
#include "handlers/nats/confirmed_connection.h"
#include "system/event_fd.h"

namespace semel::nats {

class NatsPublisher final {
 public:
  NatsPublisher(core::NatsPublishSpec spec, Environment& environment);
  ~NatsPublisher();
  NatsPublisher(const NatsPublisher&) = delete;
  NatsPublisher& operator=(const NatsPublisher&) = delete;

  void begin(const Message& message, const Attempt& attempt, Completion completion);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Ticket = handlers::InFlightCall::Ticket;
  struct Call final : handlers::InFlightCall {
    using InFlightCall::InFlightCall;
    std::string id;
    Headers headers;
    std::uint64_t number = 0;  // of the connection's messages; 0: not sent
  };

  TimePoint now() const { return environment_.clock->now(); }
  std::chrono::milliseconds until(TimePoint then) const;

  // Called on the thread; in publisher.cc.
  void work() noexcept;
  bool take_begun();
  void take_late();
  void give_up(Ticket ticket, bool stopped);

  // Called on the thread; in serve.cc.
  void connect();
  void serve(TimePoint at_most_until);
  bool publish_waiting();
  void take_answers(const ConfirmedConnection::News& news);
  void wait_for_something(TimePoint at_most_until);
  void lose(const Error& error);
  void say_farewell();

  const core::NatsPublishSpec spec_;
  Environment& environment_;
  system::EventFd wake_;
  handlers::InFlightCalls<Call> calls_;

  // Used by the thread only.
  std::unique_ptr<ConfirmedConnection> connection_;
  std::deque<Ticket> waiting_;               // not sent yet; some may have ended
  std::map<std::uint64_t, Ticket> numbers_;  // sent and not answered
  std::uint64_t published_ = 0;              // on this connection
  bool known_ = false;                       // it was connected, at least once
  std::size_t silent_ = 0;                   // calls that were late since anything was answered
  std::string denied_;                       // the right that a late call lacked; empty: none
  std::size_t tries_ = 0;                    // to connect, since a message was last stored
  TimePoint not_before_{};                   // of the next try

  std::thread thread_;
};

}  // namespace semel::nats
