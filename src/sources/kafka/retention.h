// How long the brokers keep what a source reads, as they say it themselves.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <semel/source.h>

struct rd_kafka_s;

namespace semel::kafka {

struct BrokerRetention {
  // Of the topic that keeps the longest. Not known where that of one topic is not, as where the
  // right to ask is missing, and no other keeps for ever.
  Horizon horizon;
  // How long the offsets of a group without members are kept; none: not known.
  std::optional<std::chrono::minutes> offsets;
};

// Waits for the brokers' answers, `patience` for each question.
BrokerRetention ask_retention(rd_kafka_s* handle, const std::vector<std::string>& topics,
                              std::chrono::milliseconds patience);

// What a topic's settings, as the broker words them, mean. Pure.
Horizon horizon_of(const std::string& topic, const std::string& retention_ms,
                   const std::string& cleanup_policy);

}  // namespace semel::kafka
