// Finds the program that a command names.
#pragma once

#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::handlers::exec {

// `name` where it has a slash, else the first file of that name in the folders of `path` (colons
// between them, as in PATH) that may be run. kRejected, with what is wrong, where there is none.
Result<std::string> find_program(const std::string& name, std::string_view path);

}  // namespace semel::handlers::exec
