// Storm: the messages that the demo sends, the tables they change, and the config that handles
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/guarantee.h"

namespace semel::cli::demo {

// Every third message is sent twice. Some of these pairs are raced: both copies are handed to two
// processes at the same time. All others go through the queue.
struct Storm {
  std::uint64_t messages = 0;
  std::uint64_t raced = 0;
  // Payloads for the queue in sending order; the two copies of a message are far apart.
  std::vector<std::string> queued;

  std::uint64_t sent() const { return queued.size() + 2 * raced; }
};

Storm make_storm(std::uint64_t messages, std::uint64_t raced, std::uint64_t seed);
// The payload of message `number`, counted from 1. The raced messages are the first.
std::string payload_of(std::uint64_t number);

// The number of the message; 0 if the payload is not one of them.
std::uint64_t number_of(std::string_view payload);
// The SQL of its effect, for work that has no statements in a config.
std::string work_sql(std::uint64_t number);

// The same at a service that is called: it counts its calls, and with `honours_key` ignores a
// message that it knows.
std::string call_sql(std::uint64_t number, bool honours_key);

// The user's tables, and a ledger that takes a row for each effect, whether it is a repeat or not.
std::string schema_sql(core::StrategyKind strategy, std::uint64_t messages);
// The sum in the user's tables, and the sum expected if each message counts once.
std::string balance_sql(core::StrategyKind strategy);
std::int64_t expected_balance(std::uint64_t messages);

// The config for calls from the queue by a handler of the program's own.
std::string call_config_yaml(core::StrategyKind strategy, const std::string& database);
// `source`: "queue" or "stdin".
std::string config_yaml(core::StrategyKind strategy, const std::string& database,
                        const std::string& source);

}  // namespace semel::cli::demo
