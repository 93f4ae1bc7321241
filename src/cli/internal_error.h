// How the program ends when something that must not happen has happened.
#pragma once

#include <exception>
#include <string>

#include "cli/log_line.h"

namespace semel::cli {

// The text for stderr: "internal error: …", or "out of memory" for std::bad_alloc.
std::string internal_error_text(const std::exception& thrown);

// An exception that nobody catches, in any thread, ends the process with exit code 70 and a line on
// stderr. Nothing runs any more: it is as a kill, and the next start takes over what was in hand.
void end_with_exit_code_where_nobody_catches(LogFormat log = LogFormat::kText) noexcept;

}  // namespace semel::cli
