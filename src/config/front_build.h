// Builds `front:`, and checks it with the rest of its consumer.
#pragma once

#include <optional>

#include "config/build.h"

namespace semel::config {

std::optional<FrontConfig> build_front(const View& consumer, Report& report);

void check_front(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
