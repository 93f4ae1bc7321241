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

// The horizon that a topic's settings mean. Pure.
Horizon horizon_of(const std::string& topic, const std::string& retention_ms,
                   const std::string& cleanup_policy);
// For ever, if one of them is. Else the longest known one, and not known if one of them is not.
Horizon longest_of(const std::vector<Horizon>& topics);

}  // namespace semel::kafka
