// StreamPublisher: the calls that wait for the server's answer, and the thread that owns the
// connection.
//
// Only the thread uses the connection: it sends new calls, without waiting for the answers to
// earlier ones, reads answers in order, and reconnects when a call waits for that.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <semel/environment.h>
#include <semel/handler.h>

#include "clients/redis/connection.h"
#include "clients/redis/owner.h"
#include "core/redis_streams_publish_spec.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "handlers/redis_streams/answers.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::redis_streams {

class StreamPublisher final {
 public:
  StreamPublisher(core::RedisStreamsPublishSpec spec, redis::Target target,
                  Environment& environment);
  ~StreamPublisher();
  StreamPublisher(const StreamPublisher&) = delete;
  StreamPublisher& operator=(const StreamPublisher&) = delete;

  void begin(const Message& message, const Attempt& attempt, Completion completion);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Ticket = handlers::InFlightCall::Ticket;
  struct Call final : handlers::InFlightCall {
    using InFlightCall::InFlightCall;
    Headers fields;  // of the entry, except its payload
    bool sent = false;
  };

  TimePoint now() const { return environment_.clock->now(); }
  redis::Target bounded(redis::Target target) const;

  // Called on the thread; in publisher.cc.
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  bool take_news();
  void take_late();
  void give_up(Ticket ticket, bool stopped);
  std::chrono::milliseconds until_late() const;

  // Called on the thread; in serve.cc.
  void connect();
  void serve();
  void talk(std::chrono::milliseconds most);
  bool may_send() const;
  void send_waiting();
  std::size_t send_one(Call& call);
  void take_answers();
  void wait_for_something(std::chrono::milliseconds most);
  std::chrono::milliseconds until_silent() const;
  void lose(const Error& error);
  void say_farewell();

  const core::RedisStreamsPublishSpec spec_;
  Environment& environment_;
  system::EventFd wake_;
  system::EventFd leave_;  // ends a wait to connect
  handlers::InFlightCalls<Call> calls_;

  // Used by the thread only.
  const redis::Target target_;
  const std::chrono::milliseconds silence_;  // a server that owes an answer for this long is lost
  const std::string length_;                 // spec_.max_length as a word; empty: none
  redis::Owner owner_;
  std::unique_ptr<redis::Connection> connection_;
  std::deque<Ticket> waiting_;     // not sent yet; some may have ended
  std::deque<Ticket> asked_;       // sent, in the order of their answers; likewise
  std::deque<Ticket> elsewhere_;   // refused by a server that cannot serve the stream
  std::optional<Error> left_for_;  // why this connection is closed once all is answered
  std::string last_trouble_;       // the last error since an entry was added; may be empty
  TimePoint heard_at_{};           // an answer came or became owed, or the server read
  bool readable_ = false;          // something has come, or the connection is over
  std::size_t tries_ = 0;          // attempts to connect, since an entry was last added
  TimePoint not_before_{};         // the next attempt

  system::Mutex mutex_;
  system::CondVar changed_;
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace semel::redis_streams
