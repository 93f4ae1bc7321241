// How long the brokers keep what a source reads, as they say it themselves.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/source.h>

struct rd_kafka_s;

namespace semel::kafka {

// Of all topics, as longest_of() says. Waits, about `patience`.
Horizon ask_horizon(rd_kafka_s* handle, const std::vector<std::string>& topics,
                    std::chrono::milliseconds patience);
// How long the offsets of a group without members are kept; none: not known.
std::optional<std::chrono::minutes> ask_offsets_retention(rd_kafka_s* handle,
                                                          std::chrono::milliseconds patience);

// What a topic's settings, as the broker words them, mean. Pure.
Horizon horizon_of(const std::string& topic, const std::string& retention_ms,
                   const std::string& cleanup_policy);
// For ever, where one of them keeps so. Else the longest that is known, and not known where that of
// one is not.
Horizon longest_of(const std::vector<Horizon>& topics);

}  // namespace semel::kafka
