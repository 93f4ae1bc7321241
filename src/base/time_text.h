// Parses times as answers write them. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/iso_time.h"

namespace semel {

// The time that iso_time wrote, to the millisecond; nullopt where `text` is of another form.
std::optional<UtcTime> parse_iso_time(std::string_view text);

}  // namespace semel
