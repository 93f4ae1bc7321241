// What is wrong although each value alone is right.
#pragma once

#include <string_view>
#include <vector>

#include "config/build.h"
#include "config/config.h"

namespace semel::config {

void check_consumer(const Config& config, const ConsumerConfig& consumer, const View& view,
                    Report& report);
// Names that stand twice, one standard input for two.
void check_together(const Settings& settings, Report& report);
// Adapters that the build lacks, as CMake's options name them.
void check_adapters(const Settings& settings, const std::vector<std::string_view>& missing,
                    Report& report);
// Who sends to whom.
void check_outbox(const Config& config, const Settings& settings, Report& report);
// Tokens claim from consumers that are claimed, and each of these has a token.
void check_claims(const Config& config, const Settings& settings, Report& report);

}  // namespace semel::config
