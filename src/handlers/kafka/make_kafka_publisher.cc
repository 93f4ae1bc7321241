#include "handlers/kafka/make_kafka_publisher.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "handlers/kafka/publisher.h"

namespace semel::kafka {

namespace {

Error refused(const char* code, std::string message, std::string hint) {
  return {ErrorKind::kRejected, code, std::move(message), std::move(hint)};
}

Result<void> check_spec(const core::KafkaPublishSpec& spec) {
  if (spec.brokers.empty()) {
    return failure(refused("R255", "no brokers are named", "kafka: { brokers: host:9092 }"));
  }
  if (!spec.topic_of && !core::is_kafka_topic(spec.topic)) {
    return failure(refused("R255", fmt::format("\"{}\" is not a topic's name", spec.topic),
                           "letters, digits, \".\", \"_\" and \"-\""));
  }
  for (const auto& [name, value] : spec.properties) {
    if (const auto flaw = core::kafka_producer_property_flaw(name, value)) {
      return failure(
          refused("R308", fmt::format("the property {} {}", name, flaw->why), flaw->help));
    }
  }
  return {};
}

}  // namespace

Result<void> check_producer_properties(const core::KafkaPublishSpec& spec) {
  const auto settings = producer_settings(spec, false);
  if (!settings) return failure(settings.error());
  return {};
}

Result<AsyncHandler> make_kafka_publisher(core::KafkaPublishSpec spec, Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  auto publisher = std::make_shared<KafkaPublisher>(std::move(spec), environment);
  if (auto opened = publisher->open(); !opened) return failure(std::move(opened.error()));
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::kafka
