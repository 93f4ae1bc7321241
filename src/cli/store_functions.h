// The flags of store init and store migrate for the SQL functions of a store on a database server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/session.h"
#include "config/config.h"

namespace CLI {
class App;
}

namespace semel::cli {

struct FunctionFlags {
  bool make = false;
  bool drop = false;
  std::vector<std::string> consumers;  // NAME or NAME=TTL

  bool asked() const noexcept { return make || drop; }
};

void add_function_flags(CLI::App& command, const std::shared_ptr<FunctionFlags>& flags);
void add_consumer_flag(CLI::App& command, const std::shared_ptr<FunctionFlags>& flags);

// A consumer that the flags name. Without a ttl of its own it keeps the one that it has.
struct FunctionConsumer {
  ConsumerSpec spec;
  bool names_ttl = false;
};

// The consumers that the flags name. Ends the command if the store has no functions, a name or a
// ttl cannot be read, or the config already has the consumer.
OrEnded<std::vector<FunctionConsumer>> consumers_of(Console& console, const config::Config& config,
                                                    const FunctionFlags& flags);

// Registers the consumer, unless it is there and keeps its ttl.
Result<void> register_consumer(Store& store, const FunctionConsumer& consumer);

// Makes or drops the functions and returns "made" or "dropped"; empty if neither was requested.
OrEnded<std::string> change_functions(Console& console, const config::StoreConfig& store,
                                      const FunctionFlags& flags);

}  // namespace semel::cli
