// HTML from any text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace semel::admin {

// Fit for an element's text and for an attribute in double quotes.
std::string html(std::string_view text);

// "12,345".
std::string grouped_number(std::uint64_t number);

}  // namespace semel::admin
