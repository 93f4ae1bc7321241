// Makes the RabbitMQ source.
#pragma once

#include <memory>

#include <semel/environment.h>
#include <semel/source.h>

#include "core/rabbitmq_spec.h"

namespace semel::rabbitmq {

struct RabbitmqOptions {
  core::RabbitmqSpec spec;
  // Else at_end can become true: where the broker says that nothing is left in the queue, or has
  // brought as much as the prefetch allows and nothing of it is settled.
  bool follow = true;
};

// A queue of a RabbitMQ broker, acknowledged by hand. It connects at the first receive, and again
// by itself.
std::unique_ptr<Source> make_rabbitmq_source(RabbitmqOptions options,
                                             Environment& environment = system_environment());

}  // namespace semel::rabbitmq
