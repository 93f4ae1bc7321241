// The end of a process whose handler hangs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::compose {

// The reported error.
Error hung_error(std::string text);

// Ends the process, without destructors and without a drain, after reporting why: to `tell`, or as
// a line on stderr. Thread-safe.
[[noreturn]] void end_hung(
    const std::string& consumer, const std::string& what,
    const std::function<void(std::string_view consumer, const Error& error)>& tell);

}  // namespace semel::compose
