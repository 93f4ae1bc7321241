// The text that `check` prints about a consumer's source. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace semel::cli {

// The source in one or two words: "kafka payments".
std::string configured_source(const config::ConsumerConfig& consumer);

// How the source is read, and for how long its broker drops repeats by itself compared with the
// record's ttl. Empty if there is nothing to say about the source.
std::vector<std::string> source_flow(const config::ConsumerConfig& consumer);

}  // namespace semel::cli
