// Client: one connection, which pulls from one consumer.
//
// A thread of its own receives messages and passes them to the watcher; all other calls are made by
// one thread at a time. cnats' own pull functions are not used: in 3.4 they write past their array
// where more messages are there than were asked for.
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
  std::uint64_t pending = 0;   // messages of the consumer not delivered by then
  std::uint64_t delivery = 0;  // its place among the consumer's deliveries
  std::unique_ptr<Arrival> arrival;
};

// The end of a request, as reported by the server.
struct RequestEnd {
  std::uint64_t request = 0;
  int status = 0;                       // as in HTTP
  std::optional<std::size_t> unfilled;  // messages not sent for it
};

// How late the stream can deliver a message again: one that was done, but not acknowledged, comes
// again as long as the stream has it.
Horizon horizon_of(const StreamState& stream, const std::string& name);

class Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Called on the thread of the client.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void on_deliveries(std::vector<Fetched> deliveries) = 0;
    virtual void on_request_end(const RequestEnd& end) = 0;
    // Nothing more comes. `status`: that of cnats.
    virtual void on_end(int status) = 0;
  };

  // `known`: as for connect_error(). Both outlive it.
  Client(const core::NatsSpec& spec, Watcher& watcher, bool known);
  // Sends at most what was queued before. The watcher is not called from here on.
  ~Client();

  // Call these one after the other. After a failure the client cannot be used any more.
  Result<void> open(const core::NatsNode& node) { return connection_.open(node); }
  Result<ConsumerState> find();
  // Unknown where this user may not ask for it.
  Result<Horizon> ask_horizon();
  Result<void> begin();

  // Requests this many messages; the server reports the end of `request` after `lasts`.
  Result<void> ask(std::uint64_t request, std::size_t messages, std::chrono::milliseconds lasts);
  Result<ConsumerState> look() { return ask_consumer(connection_, spec_); }
  // `body`: +ACK, +WPI, -NAK.
  Result<void> tell(const std::string& reply, std::string_view body) {
    return connection_.send(reply, body);
  }
  // The same; returns when the server has processed it, and everything sent before.
  Result<void> tell_and_wait(const std::string& reply, std::string_view body, Deadline deadline);
  // When it returns, nothing more arrives, and everything that arrived was handed over.
  void stop(Deadline deadline);

  std::optional<Error> denied() const { return connection_.denied(); }
  Error lost(int status) const { return connection_.lost(status); }
  // Ends calls that wait on it. Thread-safe; it may wait for some seconds.
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
