// Tells what `check` says of a consumer's source. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace semel::cli {

// In one word or two: "kafka payments".
std::string configured_source(const config::ConsumerConfig& consumer);

// How it is read, and for how long its broker drops repeats by itself, against the record's ttl.
// Empty for sources of which there is nothing to say.
std::vector<std::string> source_flow(const config::ConsumerConfig& consumer);

}  // namespace semel::cli
