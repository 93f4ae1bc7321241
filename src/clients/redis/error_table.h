// Maps each error of Redis to its meaning for Semel, in one table.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::redis {

// `reply`: an error reply without its "-": a word in capitals, then text.
Error error_of(std::string_view reply);

// The error's word; if a script passed the error on, the word of the refused command.
std::string_view word_of(std::string_view reply) noexcept;

// Whether the server is starting, stopping or no longer the master: a new connection may reach
// another one.
bool ends_connection(std::string_view reply) noexcept;

}  // namespace semel::redis
