// Prints the doctor's report about an opened store or a run that was asked (--url).
#pragma once

#include "cli/console.h"
#include "cli/json_view.h"

namespace semel::cli {

// Prints it as text or as the JSON that it is; returns the exit code.
int show_doctor(Console& console, const JsonView& report);

int remote_doctor(Console& console);

}  // namespace semel::cli
