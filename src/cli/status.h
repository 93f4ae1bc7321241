// The status screen of an opened store or of a run that was asked (--url).
#pragma once

#include "cli/console.h"
#include "operate/status.h"

namespace semel::cli {

// Prints it as text or as JSON, and problems on stderr; returns the exit code.
int show_status(Console& console, const operate::Status& status);

}  // namespace semel::cli
