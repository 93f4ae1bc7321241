// The Kafka handler: each message is published to a topic.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/kafka_publish_spec.h"

namespace semel::kafka {

// librdkafka's idempotent producer; `done` is said when the brokers have the record on every
// replica that keeps step, with topic-partition-offset as its result. Records with one key keep the
// order of their calls. One thread of its own answers completions and tells gates. With the last
// copy of the handler it ends, after a short wait for reports; what has none is dropped, and so
// answered retry with the outcome unknown. The last copy must not go from within a completion.
// `environment` is borrowed for as long. No broker is asked here: it connects by itself.
//
// kRejected: R255 names the part of `spec` that cannot be used, R308 the property that librdkafka
// does not take.
Result<AsyncHandler> make_kafka_publisher(core::KafkaPublishSpec spec,
                                          Environment& environment = system_environment());

}  // namespace semel::kafka
