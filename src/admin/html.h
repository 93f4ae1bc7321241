// HTML from any text.
#pragma once

#include <string>
#include <string_view>

namespace semel::admin {

// Fit for an element's text and for an attribute in double quotes.
std::string html(std::string_view text);

}  // namespace semel::admin
