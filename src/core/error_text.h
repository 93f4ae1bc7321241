// An error as one line, for a log or a reason.
#pragma once

#include <string>

#include <semel/error.h>

namespace semel::core {

// The error's message, and its hint if it has one. Pure.
std::string text_with_hint(const Error& error);

}  // namespace semel::core
