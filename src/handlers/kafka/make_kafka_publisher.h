// The Kafka handler: each message is published to a topic.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/kafka_publish_spec.h"

namespace semel::kafka {

// Uses librdkafka's idempotent producer. A call is done when the brokers have the record on every
// in-sync replica, with topic-partition-offset as its result. Records with one key keep the order
// of their calls. A thread of its own calls completions and gates. When the last copy of the
// handler is destroyed, it ends, after a short wait for reports; calls without one are dropped, and
// so answered retry with the outcome unknown. The last copy must not be destroyed inside a
// completion. `environment` is borrowed for as long. Contacts no broker here: it connects by
// itself.
//
// kRejected: R255 names the unusable part of `spec`, R308 the property that librdkafka refuses.
Result<AsyncHandler> make_kafka_publisher(core::KafkaPublishSpec spec,
                                          Environment& environment = system_environment());

// Whether librdkafka accepts all properties; contacts no broker. kRejected (R308) names the first
// that it refuses.
Result<void> check_producer_properties(const core::KafkaPublishSpec& spec);

}  // namespace semel::kafka
