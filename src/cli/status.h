// The status screen, of a store that was opened or of a run that was asked.
#pragma once

#include "cli/console.h"
#include "operate/status.h"

namespace semel::cli {

// As text or as JSON, and what is bad on stderr; returns the exit code.
int show_status(Console& console, const operate::Status& status);

}  // namespace semel::cli
