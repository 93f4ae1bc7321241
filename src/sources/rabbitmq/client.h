// Client: one connection with one channel, on which one queue is consumed.
//
// One thread at a time. Nothing waits for longer than is said; while it is not called for longer
// than a heartbeat, the broker takes it for dead.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <semel/delivery.h>
#include <semel/result.h>

#include "core/rabbitmq_spec.h"
#include "sources/rabbitmq/errors.h"
#include "sources/rabbitmq/handles.h"

struct amqp_frame_t_;
struct amqp_method_t_;
struct amqp_rpc_reply_t_;

namespace semel::rabbitmq {

// A message whose frames are coming in.
struct Coming {
  std::uint64_t tag = 0;
  std::uint64_t size = 0;
  bool began = false;  // its properties are there
  Arrival arrival;
};

class Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // What is there for whoever consumes; called from within read().
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void on_delivery(std::uint64_t tag, Arrival arrival) = 0;
    // How many messages are ready in the queue: the answer to ask_depth().
    virtual void on_depth(std::uint32_t messages, std::uint32_t consumers) = 0;
    // None: it goes on.
    virtual void on_blocked(std::optional<std::string> why) = 0;
  };

  // `known`: as refusal_of() takes it. Both outlive it.
  Client(const core::RabbitmqSpec& spec, Watcher& watcher, bool known);

  // One after the other. After a failure it is good for nothing more.
  Result<void> open(const core::RabbitmqNode& node);  // the socket, with TLS where it is asked for
  Result<void> login();
  Result<void> consume();

  int descriptor() const noexcept;
  // How long it may be left alone.
  std::chrono::milliseconds patience() const noexcept;
  // There may be more to read although the descriptor says nothing.
  bool has_more() const noexcept;
  // Whatever is there, up to `frames`; keeps the heartbeat. A failure is the connection's end, or
  // the channel's, or that of the consumption, which are alike.
  Result<void> read(std::size_t frames);

  Result<void> ack(std::uint64_t tag, bool multiple);
  Result<void> ask_depth();

  // Nothing new is brought from here on.
  Result<void> stop_consuming(Deadline deadline);
  // The broker has read all acks when this went well; what is not acknowledged goes back.
  Result<void> close(Deadline deadline);

 private:
  Result<void> checked(const amqp_rpc_reply_t_& reply, Step step) const;
  Result<void> sent(int status) const;
  tl::unexpected<Error> refused(const amqp_method_t_& method, Step step) const;
  tl::unexpected<Error> lost(int status) const;
  Result<void> use_tls();
  Result<void> declare();
  Result<void> take(const amqp_frame_t_& frame);
  Result<void> take_method(const amqp_method_t_& method);
  void end_message();

  const core::RabbitmqSpec& spec_;
  Watcher& watcher_;
  bool known_;
  ConnectionPtr connection_;
  std::string place_;  // host:port

  std::optional<Coming> coming_;
};

}  // namespace semel::rabbitmq
