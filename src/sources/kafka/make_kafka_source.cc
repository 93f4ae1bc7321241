#include "sources/kafka/make_kafka_source.h"

#include <utility>

#include "sources/kafka/settings.h"
#include "sources/kafka/source.h"

namespace semel::kafka {

Result<std::unique_ptr<Source>> make_kafka_source(const core::KafkaSpec& spec,
                                                  Environment& environment) {
  auto source = std::make_unique<KafkaSource>(spec, environment);
  if (auto opened = source->open(); !opened) return failure(std::move(opened.error()));
  return source;
}

Result<void> check_properties(const core::KafkaSpec& spec) {
  const auto settings = settings_of(spec);
  if (!settings) return failure(settings.error());
  return {};
}

}  // namespace semel::kafka
