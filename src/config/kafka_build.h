// Builds `source.kafka:`, and checks it with the rest of its consumer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/build.h"

namespace semel::config {

// The properties of a client, each checked by `flaw`.
std::map<std::string, std::string> build_kafka_properties(
    const View& kafka,
    std::optional<core::KafkaPropertyFlaw> (*flaw)(std::string_view name, std::string_view value),
    Report& report);
void refuse_kafka_topic(const Setting& topic, Report& report);
// Warns of secret properties written in the file itself.
void warn_of_kafka_secrets(const View& kafka, Report& report);

core::KafkaSpec build_kafka(const View& kafka, Report& report);

// E031: a record's own key is used only on request.
void refuse_no_key_on_kafka(const SourceLocation& place, const std::string& path, Report& report);

// Reports secrets in a file that others may read.
void check_kafka(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
