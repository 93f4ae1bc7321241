// Connection: one connection with one channel, on which its owner consumes or publishes.
//
// Not thread-safe. Nothing waits longer than stated. If nothing reads from it for longer than a
// heartbeat, the broker considers it dead.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <semel/result.h>

#include "clients/rabbitmq/errors.h"
#include "clients/rabbitmq/handles.h"
#include "core/rabbitmq_spec.h"

struct amqp_frame_t_;
struct amqp_method_t_;
struct amqp_rpc_reply_t_;

namespace semel::rabbitmq {

class Connection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  using Take = std::function<Result<void>(const amqp_frame_t_& frame)>;
  static constexpr std::uint16_t kChannel = 1;

  // `known`: see refusal_of(). `access` must outlive the connection.
  Connection(const core::RabbitmqAccess& access, bool known);

  // Call the steps in this order. After a failure the connection cannot be used any more.
  Result<void> open(const core::RabbitmqNode& node);  // the socket, with TLS where it is asked for
  Result<void> login();
  Result<void> open_channel(std::uint16_t channel = kChannel);

  // From now on the connection counts as proven: see refusal_of().
  void set_known() noexcept { known_ = true; }

  int descriptor() const noexcept;
  // How long the connection may go without a read.
  std::chrono::milliseconds patience() const noexcept;
  // Whether there may be more to read although the descriptor is not readable.
  bool has_more() const noexcept;
  // Passes up to `frames` available frames to `take`; keeps the heartbeat.
  Result<void> read(std::size_t frames, const Take& take);

  // Limits how long an answer is waited for.
  void set_answer_deadline(Deadline deadline);
  // On success, the broker has read everything that was sent on the channel.
  Result<void> close(Deadline deadline);

  // Converts the reply of a librabbitmq call.
  Result<void> checked(const amqp_rpc_reply_t_& reply, Step step) const;
  Result<void> sent(int status) const;
  // The broker closed the channel or the connection, by `method`.
  tl::unexpected<Error> refused(const amqp_method_t_& method, Step step) const;
  tl::unexpected<Error> lost(int status) const;

  amqp_connection_state_t_* handle() const noexcept { return connection_.get(); }

 private:
  Result<void> use_tls();

  const core::RabbitmqAccess& access_;
  bool known_;
  ConnectionPtr connection_;
  std::string place_;  // host:port
};

}  // namespace semel::rabbitmq
