// Makes a config from a program's descriptions of its store and consumers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/consumer.h>

#include "config/config.h"

namespace semel::compose {

// As PATH=VALUE, for config::load_values. `own_name`: for a source of the program's own.
std::vector<std::string> values_of(const ConsumerSource& source, const std::string& path,
                                   std::string_view own_name);
// `index`: of the consumer in the config.
std::vector<std::string> values_of(const ConsumerOptions& consumer, std::size_t index);
std::vector<std::string> values_of(const ConfigValues& settings, const std::string& path);

// False: no handler was given.
bool is_there(const Handler& handler);

config::StoreConfig store_config_of(RunnerStore store);
// `store` is borrowed.
config::StoreConfig store_config_of(Store& store);

}  // namespace semel::compose
