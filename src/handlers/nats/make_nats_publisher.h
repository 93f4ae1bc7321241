// The NATS handler: each message is published to a subject that a JetStream stream takes.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/nats_publish_spec.h"

namespace semel::nats {

// Each message has a Nats-Msg-Id of subject, key and payload, by which the stream drops what comes
// again within its duplicate window, and its key as Idempotency-Key; `done` is said when the stream
// answers that it has the message, and the result is the stream's name and the message's sequence
// in it. One thread of its own has the connection, makes it again, answers completions and tells
// gates. With the last copy of the handler it ends, after a short wait for answers; what has none
// is dropped, and so answered retry with the outcome unknown. The last copy must not go from within
// a completion. `environment` is borrowed for as long. The first call connects.
//
// kRejected (R255) names the part of `spec` that cannot be used.
Result<AsyncHandler> make_nats_publisher(core::NatsPublishSpec spec,
                                         Environment& environment = system_environment());

}  // namespace semel::nats
