// The SQS handler: each message is sent to a queue.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/sqs_publish_spec.h"

namespace semel::sqs {

// Messages that wait at the same time go in one request, several requests at a time; `done` is said
// when the service answers the message's id, which is the result. One thread of its own makes the
// requests, answers completions and tells gates. With the last copy of the handler it ends, after a
// short wait for answers; what has none is dropped, and so answered retry with the outcome unknown.
// The last copy must not go from within a completion. `environment` is borrowed for as long.
//
// kRejected names the part of `spec` that cannot be used: R255.
Result<AsyncHandler> make_sqs_publisher(core::SqsPublishSpec spec,
                                        Environment& environment = system_environment());

}  // namespace semel::sqs
