// The NATS handler: each message is published to a subject that a JetStream stream takes.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/nats_publish_spec.h"

namespace semel::nats {

// Each message has a Nats-Msg-Id of subject, key and payload, by which the stream drops repeats
// within its duplicate window, and its key as Idempotency-Key. A call is done when the stream
// answers that it has the message, with the stream's name and the message's sequence as result. A
// thread of its own owns the connection, reconnects, and calls completions and gates. When the last
// copy of the handler is destroyed, it ends, after a short wait for answers; calls without one are
// dropped, and so answered retry with the outcome unknown. The last copy must not be destroyed
// inside a completion. `environment` is borrowed for as long. The first call connects.
//
// kRejected (R255) names the unusable part of `spec`.
Result<AsyncHandler> make_nats_publisher(core::NatsPublishSpec spec,
                                         Environment& environment = system_environment());

}  // namespace semel::nats
