// What the errors of Redis mean to Semel, in one table.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::redis {

// What stands behind the "-" of an error reply: a word in capitals, and text.
Error error_of(std::string_view said);

// The word; of an error that a script passed on, that of the command which was refused.
std::string_view word_of(std::string_view said) noexcept;

// The server is on its way up or down, or no longer the one that is written to: another connection
// may find another.
bool ends_connection(std::string_view said) noexcept;

}  // namespace semel::redis
