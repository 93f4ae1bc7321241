// What librabbitmq hands out, given back by a destructor.
#pragma once

#include <memory>

struct amqp_connection_state_t_;

namespace semel::rabbitmq {

struct Freed {
  // Its socket goes with it; the broker is told nothing.
  void operator()(amqp_connection_state_t_* connection) const noexcept;
};

using ConnectionPtr = std::unique_ptr<amqp_connection_state_t_, Freed>;

}  // namespace semel::rabbitmq
