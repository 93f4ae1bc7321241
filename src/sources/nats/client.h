// Client: one connection, on which one consumer is pulled from.
//
// A thread of its own takes in what the server sends and hands it to the watcher; all other calls
// are made by one thread at a time. cnats' own way to pull is not used: in 3.4 it writes past its
// array where more messages are there than were asked for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <semel/result.h>
#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "clients/nats/connection.h"
#include "clients/nats/jetstream.h"
#include "core/nats_spec.h"

namespace semel::nats {

// A delivery, and where it is acknowledged.
struct Fetched {
  std::string reply;
  std::uint64_t count = 0;     // which delivery of its message it is
  std::uint64_t pending = 0;   // what of the consumer had not been delivered then
  std::uint64_t delivery = 0;  // its place among the consumer's deliveries
  std::unique_ptr<Arrival> arrival;
};

// The server is done with a request.
struct RequestEnd {
  std::uint64_t request = 0;
  int status = 0;                       // as in HTTP
  std::optional<std::size_t> unfilled;  // so many messages were not sent for it
};

// How late the stream can bring a message again: what was done, and was not acknowledged, comes
// again as long as the stream has it.
Horizon horizon_of(const StreamState& stream, const std::string& name);

class Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Called by the client's own thread.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void on_deliveries(std::vector<Fetched> deliveries) = 0;
    virtual void on_request_end(const RequestEnd& end) = 0;
    // Nothing more comes. `status`: cnats'.
    virtual void on_end(int status) = 0;
  };

  // `known`: as connect_error() takes it. Both outlive it.
  Client(const core::NatsSpec& spec, Watcher& watcher, bool known);
  // Sends at most what was to be sent before. The watcher is not called from here on.
  ~Client();

  // One after the other. After a failure it is good for nothing more.
  Result<void> open(const core::NatsNode& node) { return connection_.open(node); }
  Result<ConsumerState> find();
  // Not known where this user may not ask for it.
  Result<Horizon> ask_horizon();
  Result<void> begin();

  // Asks for so many messages; the server tells of the end of `request` after `lasts`.
  Result<void> ask(std::uint64_t request, std::size_t messages, std::chrono::milliseconds lasts);
  Result<ConsumerState> look() { return ask_consumer(connection_, spec_); }
  // `body`: +ACK, +WPI, -NAK.
  Result<void> tell(const std::string& reply, std::string_view body) {
    return connection_.send(reply, body);
  }
  // The same; returns when the server has done it, and all that it was told before.
  Result<void> tell_and_wait(const std::string& reply, std::string_view body, Deadline deadline);
  // Nothing more is on its way when it returns; what has come was handed over.
  void stop(Deadline deadline);

  std::optional<Error> denied() const { return connection_.denied(); }
  Error lost(int status) const { return connection_.lost(status); }
  // Ends what waits on it. From any thread; it may wait for some seconds.
  void cut() const { connection_.cut(); }

 private:
  void take_in();
  void hand_over(const std::vector<MessagePtr>& messages);
  void note_end(__natsMsg& message);

  const core::NatsSpec& spec_;
  Watcher& watcher_;
  Connection connection_;
  std::string inbox_;  // "_INBOX.X."; a request's number is behind it
  SubscriptionPtr subscription_;
  std::thread reader_;
};

}  // namespace semel::nats
