// One table: what each error of Redis means to Semel.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::redis {

// `reply`: an error reply without its "-": a word in capitals, and text.
Error error_of(std::string_view reply);

// The word; for an error that a script passed on, the word of the refused command.
std::string_view word_of(std::string_view reply) noexcept;

// The server is starting, stopping or no longer the master: a new connection may find another one.
bool ends_connection(std::string_view reply) noexcept;

}  // namespace semel::redis
