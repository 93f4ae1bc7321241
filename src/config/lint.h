// What a statement does when it runs twice.
#pragma once

#include <vector>

#include "config/build.h"
#include "config/config.h"
#include "config/report.h"

namespace semel::config {

// L101 and L102 of every SQL handler: warnings of `report` where nothing keeps the statement from
// running twice, else of `notes`. Silenced by the consumer's `accept`.
void lint(const Config& config, const Settings& settings, Report& report, Report& notes);

}  // namespace semel::config
