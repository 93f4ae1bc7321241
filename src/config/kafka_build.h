// `source.kafka:` into its spec, and what it asks of the rest.
#pragma once

#include "config/build.h"

namespace semel::config {

core::KafkaSpec build_kafka(const View& kafka, Report& report);

// Secrets in a file that others may read.
void check_kafka(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
