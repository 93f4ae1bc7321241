// Escapes text for HTML.
#pragma once

#include <string>
#include <string_view>

namespace semel::admin {

// Safe in an element's text and in an attribute in double quotes.
std::string html(std::string_view text);

}  // namespace semel::admin
