// Finds errors where each value alone is right.
#pragma once

#include <string_view>
#include <vector>

#include "config/build.h"
#include "config/config.h"

namespace semel::config {

void check_consumer(const Config& config, const ConsumerConfig& consumer, const View& view,
                    Report& report);
// D102 in `notes` where a ttl is shorter than the broker of the source usually keeps messages. It
// is no warning of every start: a run asks the broker.
void note_horizons(const Config& config, const Settings& settings, Report& notes);
// Duplicate names, two consumers of standard input.
void check_together(const Settings& settings, Report& report);
// Adapters that the build lacks, by their CMake options' names.
void check_adapters(const Settings& settings, const std::vector<std::string_view>& missing,
                    Report& report);
// Which consumers send to which.
void check_outbox(const Config& config, const Settings& settings, Report& report);
// Tokens must claim from consumers that are claimed, and each of these needs a token.
void check_claims(const Config& config, const Settings& settings, Report& report);

}  // namespace semel::config
