// Makes the Kafka source.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/kafka_spec.h"
#include "sources/kafka/retention.h"

namespace semel::kafka {

inline constexpr SourceTraits kSourceTraits{.name = "kafka", .ends = true, .tells_lag = true};

// Whether offsets are committed. A dry run commits nothing, not even where it begins.
enum class Commits { kYes, kNever };

// Topics of a Kafka cluster, read as a member of a consumer group. Offsets are committed up to the
// first unsettled message. It joins the group at the first receive and reconnects by itself.
// kRejected (R308): librdkafka does not know a property, or refuses its value.
Result<std::unique_ptr<Source>> make_kafka_source(const core::KafkaSpec& spec,
                                                  Environment& environment = system_environment(),
                                                  Commits commits = Commits::kYes);

// Whether librdkafka accepts all properties; contacts no broker.
Result<void> check_properties(const core::KafkaSpec& spec);

struct BrokerRetention {
  Horizon horizon;
  // For the offsets of a group without members; nullopt: unknown.
  std::optional<std::chrono::minutes> offsets;
};
// How long the brokers keep the topics; joins no group. kUnavailable: no broker answered within
// `patience`; kRejected: as a run would be refused (login, TLS, topics, rights).
Result<BrokerRetention> look_at_retention(const core::KafkaSpec& spec,
                                          std::chrono::milliseconds patience);
// How many messages wait after the group's offsets, in all. Errors as above.
Result<std::int64_t> look_at_lag(const core::KafkaSpec& spec, std::chrono::milliseconds patience);

}  // namespace semel::kafka
