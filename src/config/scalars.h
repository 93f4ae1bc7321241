// Converts one value's text according to its field's shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/schema.h"
#include "config/settings.h"

namespace semel::config {

// An error of a value. `message` follows "PATH: ".
struct Flaw {
  std::string_view code;
  std::string message;
  std::string help;
};

// Fills the typed members of `setting` from `setting.text`, by `setting.field`.
std::optional<Flaw> read_value(Setting& setting);

// In milliseconds, and in bytes.
std::optional<std::int64_t> parse_duration(std::string_view text);  // "500ms", "20s", "7d"
std::optional<std::int64_t> parse_size(std::string_view text);      // "64KiB"
std::string show_duration(std::int64_t milliseconds);               // "90s", in the largest unit
std::string show_size(std::int64_t bytes);

}  // namespace semel::config
