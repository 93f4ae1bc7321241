// Where a page of the demo can be served that nobody asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::cli::demo {

// An address of this machine alone, as "127.0.0.1:8585", on which nothing listens now: the usual
// one, or one of the next ports; nullopt: all of them are taken. Somebody may take it meanwhile.
std::optional<std::string> free_address();

// Whether nothing listens now on an address that free_address() gave.
bool is_free_address(std::string_view address);

}  // namespace semel::cli::demo
