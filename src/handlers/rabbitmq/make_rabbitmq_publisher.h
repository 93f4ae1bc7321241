// The RabbitMQ handler: each message is published to an exchange.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/rabbitmq_publish_spec.h"

namespace semel::rabbitmq {

// Persistent and mandatory, on a connection of its own with publisher confirms; `done` is said at
// the confirm, with an empty result. What no queue takes comes back and is answered retry. One
// thread of its own has the connection, makes it again, answers completions and tells gates. With
// the last copy of the handler it ends, after a short wait for confirms; what has none is dropped,
// and so answered retry with the outcome unknown. The last copy must not go from within a
// completion. `environment` is borrowed for as long. The first call connects.
//
// kRejected (R255) names the part of `spec` that cannot be used.
Result<AsyncHandler> make_rabbitmq_publisher(core::RabbitmqPublishSpec spec,
                                             Environment& environment = system_environment());

}  // namespace semel::rabbitmq
