// `source.kafka:` into its spec, and what it asks of the rest.
#pragma once

#include "config/build.h"

namespace semel::config {

core::KafkaSpec build_kafka(const View& kafka, Report& report);

// E031: a record's own key is not taken unasked.
void refuse_no_key_on_kafka(const Place& place, const std::string& path, Report& report);

// Secrets in a file that others may read.
void check_kafka(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
