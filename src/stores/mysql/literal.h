// Writes values into the text of a statement.
//
// Statements are sent as text: many fit into one packet, and into one round trip. Strings are safe
// in it because quotes in them are doubled and nothing else has a meaning there: our sessions have
// NO_BACKSLASH_ESCAPES, which the wire checks with each answer. A borrowed session may treat a
// backslash as an escape, or use another character set: there they are written as hexadecimal
// digits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <semel/statement.h>

#include "stores/sql/param.h"

namespace semel::mysql {

// The sessions in which a literal has the right meaning.
enum class Literals { kOurs, kAnyones };

void append_integer(std::string& out, std::int64_t value);
// For bytes: stored in, or compared with, a column of bytes.
void append_bytes(std::string& out, BytesView bytes, Literals literals);
void append_text(std::string& out, std::string_view text, Literals literals);
void append_time(std::string& out, StoreTime time);
void append(std::string& out, const sql::Param& param, Literals literals);
// False where it cannot be written: a double that is NaN or infinite, a decimal with more digits
// than DECIMAL has.
bool append(std::string& out, const Value& value, Literals literals);

// `text` with its ?1, ?2 … filled in. No text of ours has a ? in quotes.
std::string filled(std::string_view text, std::span<const sql::Param> params, Literals literals);

// Parses "YYYY-MM-DD hh:mm:ss[.ffffff]" as the server writes it.
StoreTime time_of(std::string_view text) noexcept;

}  // namespace semel::mysql
