// Holds what was written against the schema.
#pragma once

#include "config/node.h"
#include "config/report.h"
#include "config/settings.h"

namespace semel::config {

// Every effective value: written, taken over from `defaults:`, or the schema's. What does not fit
// is reported and left out.
Settings conform(const Node& root, Report& report);

}  // namespace semel::config
