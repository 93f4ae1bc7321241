// Finds the program that a command names.
#pragma once

#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::handlers::exec {

// `name` if it has a slash, else the first executable file of that name in the directories of
// `path` (separated by colons, as in PATH). kRejected, with the reason, where there is none.
Result<std::string> find_program(const std::string& name, std::string_view path);

}  // namespace semel::handlers::exec
