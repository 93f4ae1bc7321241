// Strict UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace semel {

// How many bytes the character at the beginning of `text` has; 0 where none is valid there. `text`
// is not empty.
std::size_t utf8_length(std::string_view text) noexcept;

// Whether all of `text` is UTF-8, as RFC 3629 has it.
bool is_utf8(std::string_view text) noexcept;

// True for the control characters of ASCII and for their counterparts above it (C1), which move the
// cursor. `character` is what utf8_length measured.
bool is_control(std::string_view character) noexcept;

}  // namespace semel
