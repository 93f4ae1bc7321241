// Values, as they stand in the text of a statement.
//
// Statements go as text: many fit into one packet, and into one round trip. Strings are safe in it
// because a quote in them is doubled and nothing else has a meaning there: our sessions have
// NO_BACKSLASH_ESCAPES, which the wire checks with each answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <semel/statement.h>

#include "stores/sql/param.h"

namespace semel::mysql {

void append_integer(std::string& out, std::int64_t value);
void append_bytes(std::string& out, BytesView bytes);
void append_text(std::string& out, std::string_view text);
void append_time(std::string& out, StoreTime time);
void append(std::string& out, const sql::Param& param);
// False where it cannot be written: a double that is no number.
bool append(std::string& out, const Value& value);

// `text` with its ?1, ?2 … written in. No text of ours has a ? in quotes.
std::string filled(std::string_view text, std::span<const sql::Param> params);

// "YYYY-MM-DD hh:mm:ss[.ffffff]" as the server writes it.
StoreTime time_of(std::string_view text) noexcept;

}  // namespace semel::mysql
