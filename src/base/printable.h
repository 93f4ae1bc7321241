// Makes text safe for a terminal: no character moves the cursor, ends a line or changes direction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semel {

// True for control characters, line separators and bidirectional controls: a terminal or a pager
// acts on them instead of showing them. `character` is what utf8_length measured.
bool is_unprintable(std::string_view character) noexcept;

// Appends the first character of `text` and removes it from there. Unprintable ones become \x1b or
// \u202e, bytes that are not UTF-8 become \xff. `text` is not empty.
void take_printable(std::string& out, std::string_view& text);

// The whole of `text` in this form; the ASCII characters in `kept` stay as they are.
std::string printable_text(std::string_view text, std::string_view kept = {});

// The first `longest` characters of `text` in this form; an ellipsis stands for all others.
std::string printable_start(std::string_view text, std::size_t longest);

// A valid JSON document, its unprintable characters as \u202e: the same value.
std::string printable_json(std::string_view document);

}  // namespace semel
