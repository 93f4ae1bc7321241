// Checks what a statement does when it runs twice.
#pragma once

#include <vector>

#include "config/build.h"
#include "config/config.h"
#include "config/report.h"

namespace semel::config {

// L101 and L102 for every SQL handler: warnings in `report` where nothing prevents the statement
// from running twice, else in `notes`. Silenced by the consumer's `accept`.
void lint(const Config& config, const Settings& settings, Report& report, Report& notes);

}  // namespace semel::config
