// Storm: what the demo sends, the tables it is sent against, and the config that handles it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/guarantee.h"

namespace semel::cli::demo {

// Every third message is sent again. Of those pairs some are raced: both copies are handed to two
// processes at the same time. The rest goes through the queue.
struct Storm {
  std::uint64_t messages = 0;
  std::uint64_t raced = 0;
  // Payloads for the queue, in the order they are sent: first ones and second ones, far apart.
  std::vector<std::string> queued;

  std::uint64_t sent() const { return queued.size() + 2 * raced; }
};

Storm make_storm(std::uint64_t messages, std::uint64_t raced, std::uint64_t seed);
// The message with this number, from 1. The raced ones are the first.
std::string payload_of(std::uint64_t number);

// Which one it is; 0 for what is none of them.
std::uint64_t number_of(std::string_view payload);
// What is to happen for it, for work that has no statements in a config.
std::string work_sql(std::uint64_t number);

// The same at a service that is called: it counts its calls, and with `honours_key` does nothing
// again for a message that it knows.
std::string call_sql(std::uint64_t number, bool honours_key);

// The user's tables, and beside them a ledger that takes a row for each effect, unique or not.
std::string schema_sql(core::StrategyKind strategy, std::uint64_t messages);
// What the user's tables hold in all, and what they must hold when each message counts once.
std::string balance_sql(core::StrategyKind strategy);
std::int64_t expected_balance(std::uint64_t messages);

// Of calls that a handler of the program's own makes, from the queue.
std::string call_config_yaml(core::StrategyKind strategy, const std::string& database);
// `source`: "queue" or "stdin".
std::string config_yaml(core::StrategyKind strategy, const std::string& database,
                        const std::string& source);

}  // namespace semel::cli::demo
