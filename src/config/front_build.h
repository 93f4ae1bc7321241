// `front:` into its config, and what it asks of the rest.
#pragma once

#include <optional>

#include "config/build.h"

namespace semel::config {

std::optional<FrontConfig> build_front(const View& consumer, Report& report);

void check_front(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
