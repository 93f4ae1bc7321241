// The doctor's report, of a store that was opened or of a run that was asked.
#pragma once

#include "cli/console.h"
#include "cli/json_view.h"

namespace semel::cli {

// As text or as the JSON that it is; returns the exit code.
int show_doctor(Console& console, const JsonView& report);

int remote_doctor(Console& console);

}  // namespace semel::cli
