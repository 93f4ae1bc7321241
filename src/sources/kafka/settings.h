// The settings of a client: ours, overridden by those of the config.
#pragma once

#include <semel/result.h>

#include "clients/kafka/handles.h"
#include "core/kafka_spec.h"

namespace semel::kafka {

// kRejected (R308) names the property that librdkafka does not know, or whose value it refuses.
Result<ConfPtr> settings_of(const core::KafkaSpec& spec);

}  // namespace semel::kafka
