// Text to Nodes: YAML 1.2, our subset. No tags, no merge keys, no key twice, one document.
#pragma once

#include <optional>
#include <string_view>

#include "config/node.h"
#include "config/report.h"

namespace semel::config {

// Bytes a config may have.
inline constexpr std::size_t kMostBytes = 1 << 20;

// Whether `text` can be a config at all: not empty, not too large, UTF-8 without NUL. Reports.
bool readable(std::string_view text, Report& report);

// The document, or nothing after a report of why not. `source` is where its places count.
std::optional<Node> read_yaml(std::string_view text, std::size_t source, Report& report);

}  // namespace semel::config
