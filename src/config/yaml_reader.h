// Parses text into Nodes: YAML 1.2, our subset. No tags, no merge keys, no duplicate keys, one
// document.
#pragma once

#include <optional>
#include <string_view>

#include "config/node.h"
#include "config/report.h"

namespace semel::config {

// The most bytes of a config.
inline constexpr std::size_t kMostBytes = 1 << 20;

// Whether `text` can be a config at all: not empty, not too large, UTF-8 without NUL. Reports.
bool readable(std::string_view text, Report& report);

// The document; nullopt after reporting why not. `source`: the text's number for its places.
std::optional<Node> read_yaml(std::string_view text, std::size_t source, Report& report);

}  // namespace semel::config
