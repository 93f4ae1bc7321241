// Words that commands and the API read and show. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/bytes.h>

namespace semel::operate {

// Bytes as one line for a terminal, in the form of base/printable.h; longer ones than `longest`
// characters are cut, with an ellipsis. 0: never cut.
std::string printable(BytesView bytes, std::size_t longest = 0);

// "500ms", "20s", "5m", "6h", "7d"; nullopt for anything else.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The candidate that a mistyped word most likely meant; nullopt where none is near.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace semel::operate
