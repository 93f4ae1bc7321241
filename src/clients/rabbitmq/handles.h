// Destructor for librabbitmq's connection.
#pragma once

#include <memory>

struct amqp_connection_state_t_;

namespace semel::rabbitmq {

struct Freed {
  // Closes the socket without notifying the broker.
  void operator()(amqp_connection_state_t_* connection) const noexcept;
};

using ConnectionPtr = std::unique_ptr<amqp_connection_state_t_, Freed>;

}  // namespace semel::rabbitmq
