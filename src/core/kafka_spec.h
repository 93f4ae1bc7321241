// The config of a Kafka source, and the librdkafka settings that it may have. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::core {

struct KafkaSpec {
  // Where a group begins that has no offset yet, or whose offset the broker no longer has.
  enum class From { kEarliest, kLatest, kFail };

  std::string brokers;  // host:port,host:port
  std::string group;
  std::vector<std::string> topics;
  From from = From::kEarliest;
  std::map<std::string, std::string> properties;  // librdkafka's own names, passed through
};

const char* to_string(KafkaSpec::From from) noexcept;  // as in a config

struct KafkaPropertyFlaw {
  std::string why;   // in words that follow its name
  std::string help;  // what to write instead
};
// Why a config may not set this property: it breaks a promise, or has a config field of its own.
std::optional<KafkaPropertyFlaw> kafka_property_flaw(std::string_view name, std::string_view value);
// Whether the property's value is a secret.
bool is_kafka_secret(std::string_view name) noexcept;
// Whether a topic can have this name; patterns cannot.
bool is_kafka_topic(std::string_view name) noexcept;

}  // namespace semel::core
