// The files of the repository that a test reads.
#pragma once

#include <string>
#include <string_view>

namespace semel::test {

// The absolute path of a file or folder of the repository; `path` is relative to its root. Aborts
// in a test program whose list of inputs has neither it nor a folder that it is in
// (cmake/SemelInputs.cmake): a pass would be remembered where the file has changed. Thread-safe.
std::string input(std::string_view path);

}  // namespace semel::test
