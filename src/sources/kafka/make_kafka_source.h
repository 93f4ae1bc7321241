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

inline constexpr SourceTraits kSourceTraits{.name = "kafka", .ends = true};

// Whether the group is told what is settled. A dry run tells it nothing, not even where it begins.
enum class Commits { kYes, kNever };

// Topics of a Kafka cluster, read as a member of a consumer group. Offsets are committed up to
// where everything is settled. It joins the group at the first receive and reconnects by itself.
// kRejected (R308): librdkafka does not know a property, or refuses its value.
Result<std::unique_ptr<Source>> make_kafka_source(const core::KafkaSpec& spec,
                                                  Environment& environment = system_environment(),
                                                  Commits commits = Commits::kYes);

// Whether librdkafka takes all properties; asks no broker.
Result<void> check_properties(const core::KafkaSpec& spec);

struct BrokerRetention {
  Horizon horizon;
  // Of the offsets of a group without members; none: not known.
  std::optional<std::chrono::minutes> offsets;
};
// What the brokers say of how long they keep the topics; joins no group. kUnavailable: no broker
// answered within `patience`; kRejected: as a run would be refused (login, TLS, topics, rights).
Result<BrokerRetention> look_at_retention(const core::KafkaSpec& spec,
                                          std::chrono::milliseconds patience);
// How many messages wait behind the offsets of the group, in all. Errors as above.
Result<std::int64_t> look_at_lag(const core::KafkaSpec& spec, std::chrono::milliseconds patience);

}  // namespace semel::kafka
