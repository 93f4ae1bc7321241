// How long the brokers keep the topics that a source reads, as they report it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/source.h>

struct rd_kafka_s;

namespace semel::kafka {

// For all topics together, as longest_of() says. Waits for about `patience`.
Horizon ask_horizon(rd_kafka_s* handle, const std::vector<std::string>& topics,
                    std::chrono::milliseconds patience);
// How long the offsets of a group without members are kept; nullopt: unknown.
std::optional<std::chrono::minutes> ask_offsets_retention(rd_kafka_s* handle,
                                                          std::chrono::milliseconds patience);

// As the broker reports them; empty: not reported.
struct TopicSettings {
  std::string retention_ms;
  std::string segment_ms;
  std::string cleanup_policy;
};
// The horizon that a topic's settings mean. A segment is deleted once its youngest record is
// retention.ms old, and its oldest may be older by segment.ms. Pure.
Horizon horizon_of(const std::string& topic, const TopicSettings& settings);
// For ever, if one of them is. Else the longest known one, and not known if one of them is not.
Horizon longest_of(const std::vector<Horizon>& topics);

}  // namespace semel::kafka
