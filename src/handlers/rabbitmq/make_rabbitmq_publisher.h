// The RabbitMQ handler: each message is published to an exchange.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/rabbitmq_publish_spec.h"

namespace semel::rabbitmq {

// Publishes persistent, mandatory messages on a connection of its own with publisher confirms. A
// call is done at the confirm, with an empty result. A message that no queue takes is returned and
// answered retry. A thread of its own owns the connection, reconnects, and calls completions and
// gates. When the last copy of the handler is destroyed, it ends, after a short wait for confirms;
// calls without one are dropped, and so answered retry with the outcome unknown. The last copy must
// not be destroyed inside a completion. `environment` is borrowed for as long. The first call
// connects.
//
// kRejected (R255) names the unusable part of `spec`.
Result<AsyncHandler> make_rabbitmq_publisher(core::RabbitmqPublishSpec spec,
                                             Environment& environment = system_environment());

}  // namespace semel::rabbitmq
