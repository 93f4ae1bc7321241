// The text of a user's statement in an error: the reader must know which statement failed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <semel/error.h>
#include <semel/spi/recorded_statement.h>

namespace semel::core {

// The longest text of a statement that an error shows, in bytes.
inline constexpr std::size_t kMostStatementText = 240;

// One line: space between words is one space, unprintable characters are escaped, and a longer text
// ends with an ellipsis. Has the placeholders of `sql`, never their values. Pure.
std::string statement_text(std::string_view sql);

// The statement as the user wrote it: with names for its placeholders, where it has some.
std::string_view written_text(const Statement& statement) noexcept;

// Appends the statement's text to the error's message.
void name_statement(Error& error, std::string_view sql);

}  // namespace semel::core
