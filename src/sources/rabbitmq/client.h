// Client: one connection with one channel, on which one queue is consumed.
//
// One thread at a time. No call waits longer than documented; if none is made for longer than a
// heartbeat, the broker takes the client for dead.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>
#include <semel/spi/delivery.h>

#include "clients/rabbitmq/connection.h"
#include "core/rabbitmq_spec.h"

struct amqp_frame_t_;
struct amqp_method_t_;

namespace semel::rabbitmq {

// A message whose frames are arriving.
struct Coming {
  std::uint64_t tag = 0;
  std::uint64_t size = 0;
  bool redelivered = false;
  std::unique_ptr<Arrival> arrival;  // once its properties have arrived
};

class Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Called from within read().
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void on_delivery(std::uint64_t tag, std::unique_ptr<Arrival> arrival) = 0;
    // The answer to ask_depth(): how many messages are ready in the queue.
    virtual void on_depth(std::uint32_t messages, std::uint32_t consumers) = 0;
    // nullopt: no longer blocked.
    virtual void on_blocked(std::optional<std::string> why) = 0;
  };

  // `known`: as for refusal_of(). Both outlive it.
  Client(const core::RabbitmqSpec& spec, Watcher& watcher, bool known);

  // Call these one after the other. After a failure the client cannot be used any more.
  Result<void> open(const core::RabbitmqNode& node) { return connection_.open(node); }
  Result<void> login() { return connection_.login(); }
  Result<void> consume();

  int descriptor() const noexcept { return connection_.descriptor(); }
  std::chrono::milliseconds patience() const noexcept { return connection_.patience(); }
  bool has_more() const noexcept { return connection_.has_more(); }
  // Reads what is there, up to `frames`; keeps the heartbeat. A failure means the end of the
  // connection, the channel, or the consumption, which are treated alike.
  Result<void> read(std::size_t frames);

  Result<void> ack(std::uint64_t tag, bool multiple);
  Result<void> ask_depth();

  // After this nothing new is delivered.
  Result<void> stop_consuming(Deadline deadline);
  // On success the broker has read all acks; unacknowledged messages return to the queue.
  Result<void> close(Deadline deadline) { return connection_.close(deadline); }

 private:
  Result<void> declare();
  Result<void> take(const amqp_frame_t_& frame);
  Result<void> take_method(const amqp_method_t_& method);
  void end_message();

  const core::RabbitmqSpec& spec_;
  Watcher& watcher_;
  Connection connection_;
  std::optional<Coming> coming_;
};

}  // namespace semel::rabbitmq
