// Asks the client libraries of adapters about settings that a config passes on to them.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <utility>

#include "compose/compose.h"
#include "handlers/kafka/make_kafka_publisher.h"
#include "sources/kafka/make_kafka_source.h"

namespace semel::compose {

namespace {

using Properties = std::map<std::string, std::string>;

// Checks each property by itself: a check of all ends at the first that is refused.
template <class Spec>
void check_each(Spec spec, const std::string& path, Result<void> (*check)(const Spec&),
                std::vector<SettingFlaw>& flaws) {
  const Properties all = std::exchange(spec.properties, {});
  // Without Kafka in the build, or where even a client without properties is refused, nothing is
  // known of them.
  if (!check(spec)) return;
  for (const auto& [name, value] : all) {
    spec.properties = {{name, value}};
    auto done = check(spec);
    if (!done) flaws.push_back({fmt::format("{}.{}", path, name), std::move(done.error())});
  }
}

}  // namespace

std::vector<SettingFlaw> property_flaws(const config::Config& config) {
  std::vector<SettingFlaw> flaws;
  for (std::size_t i = 0; i < config.consumers.size(); ++i) {
    const config::ConsumerConfig& consumer = config.consumers[i];
    if (const auto* source = std::get_if<config::KafkaSource>(&consumer.source)) {
      check_each(source->spec, fmt::format("consumers[{}].source.kafka.properties", i),
                 &kafka::check_properties, flaws);
    }
    if (const auto* handler = std::get_if<config::KafkaHandler>(&consumer.handler)) {
      check_each(handler->spec, fmt::format("consumers[{}].handler.kafka.properties", i),
                 &kafka::check_producer_properties, flaws);
    }
  }
  return flaws;
}

}  // namespace semel::compose
