// `source.kafka:` into its spec, and what it asks of the rest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/build.h"

namespace semel::config {

// Those of a client, each judged by `flaw`.
std::map<std::string, std::string> build_kafka_properties(
    const View& kafka,
    std::optional<core::KafkaPropertyFlaw> (*flaw)(std::string_view name, std::string_view value),
    Report& report);
void refuse_kafka_topic(const Setting& topic, Report& report);
// Warns of secrets among the properties that stand in the file itself.
void warn_of_kafka_secrets(const View& kafka, Report& report);

core::KafkaSpec build_kafka(const View& kafka, Report& report);

// E031: a record's own key is not taken unasked.
void refuse_no_key_on_kafka(const Place& place, const std::string& path, Report& report);

// Secrets in a file that others may read.
void check_kafka(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
