// Checks the written nodes against the schema.
#pragma once

#include "config/node.h"
#include "config/report.h"
#include "config/settings.h"

namespace semel::config {

// Every effective value: written, taken from `defaults:`, or the schema's. Values that do not fit
// are reported and left out. `consumers_optional`: a config without consumers is no error.
Settings conform(const Node& root, Report& report, bool consumers_optional = false);

}  // namespace semel::config
