// Builds `traces:`.
#pragma once

#include <optional>
#include <string>

#include "config/build.h"

namespace semel::config {

// nullopt where the config has no `traces:`. Reports an unusable endpoint, headers that cannot be
// sent, and secrets written in the file itself.
std::optional<core::TracesSpec> build_traces(const View& root, const std::string& folder,
                                             Report& report);

}  // namespace semel::config
