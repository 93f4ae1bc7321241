// Builds `admin:`.
#pragma once

#include <optional>

#include "config/build.h"

namespace semel::config {

// nullopt where the config has no `admin:`. Reports an address that cannot be read, one that other
// machines reach without a token or without TLS, and secrets that are short or stand in the file
// itself.
// `folder`: of the file, where relative paths begin.
std::optional<AdminConfig> build_admin(const View& root, const std::string& folder, Report& report);

// Warns of a key taken from a place that `admin.mask` hides: keys are always shown.
void check_masked_keys(const Config& config, const ConsumerConfig& consumer, const View& view,
                       Report& report);

}  // namespace semel::config
