// `traces:` into its config.
#pragma once

#include <optional>
#include <string>

#include "config/build.h"

namespace semel::config {

// nullopt where the config has no `traces:`. Reports an endpoint that cannot be called, headers
// that cannot be sent, and secrets that stand in the file itself.
std::optional<core::TracesSpec> build_traces(const View& root, const std::string& folder,
                                             Report& report);

}  // namespace semel::config
