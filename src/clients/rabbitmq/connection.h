// Connection: one connection with one channel, which its owner consumes or publishes on.
//
// One thread at a time. Nothing waits for longer than is said; while it is not read from for longer
// than a heartbeat, the broker takes it for dead.
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

  // `known`: as refusal_of() takes it. `access` outlives it.
  Connection(const core::RabbitmqAccess& access, bool known);

  // One after the other. After a failure it is good for nothing more.
  Result<void> open(const core::RabbitmqNode& node);  // the socket, with TLS where it is asked for
  Result<void> login();
  Result<void> open_channel(std::uint16_t channel = kChannel);

  // From here on it does what it is for: see refusal_of().
  void set_known() noexcept { known_ = true; }

  int descriptor() const noexcept;
  // How long it may be left alone.
  std::chrono::milliseconds patience() const noexcept;
  // There may be more to read although the descriptor says nothing.
  bool has_more() const noexcept;
  // Whatever is there, up to `frames`, goes to `take`; keeps the heartbeat.
  Result<void> read(std::size_t frames, const Take& take);

  // How long an answer is waited for.
  void set_answer_deadline(Deadline deadline);
  // The broker has read all that was sent on the channel when this went well.
  Result<void> close(Deadline deadline);

  // What a call of librabbitmq came to.
  Result<void> checked(const amqp_rpc_reply_t_& reply, Step step) const;
  Result<void> sent(int status) const;
  // The broker closes the channel or the connection, by `method`.
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
