// How the program ends after an internal error.
#pragma once

#include <exception>
#include <string>

#include "cli/log_line.h"

namespace semel::cli {

// The text for stderr: "internal error: …", or "out of memory" for std::bad_alloc.
std::string internal_error_text(const std::exception& thrown);

// Makes an uncaught exception in any thread end the process with exit code 70 and a line on stderr.
// No destructors run: the effect is that of a kill, and the next start takes over the messages in
// progress.
void end_with_exit_code_where_nobody_catches(LogFormat log = LogFormat::kText) noexcept;

}  // namespace semel::cli
