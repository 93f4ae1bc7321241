// For builds without Kafka.
#include "core/not_built.h"
#include "handlers/kafka/make_kafka_publisher.h"
#include "sources/kafka/make_kafka_source.h"

namespace semel::kafka {
namespace {

Error no_kafka() { return core::not_built("Kafka", "KAFKA"); }

}  // namespace

Result<std::unique_ptr<Source>> make_kafka_source(const core::KafkaSpec&, Environment&, Commits) {
  return failure(no_kafka());
}

Result<void> check_properties(const core::KafkaSpec&) { return failure(no_kafka()); }

Result<void> check_producer_properties(const core::KafkaPublishSpec&) {
  return failure(no_kafka());
}

Result<BrokerRetention> look_at_retention(const core::KafkaSpec&, std::chrono::milliseconds) {
  return failure(no_kafka());
}

Result<std::int64_t> look_at_lag(const core::KafkaSpec&, std::chrono::milliseconds) {
  return failure(no_kafka());
}

Result<AsyncHandler> make_kafka_publisher(core::KafkaPublishSpec, Environment&) {
  return failure(no_kafka());
}

}  // namespace semel::kafka
