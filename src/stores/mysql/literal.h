// Values, as they stand in the text of a statement.
//
// Statements go as text: many fit into one packet, and into one round trip. Strings are safe in it
// because a quote in them is doubled and nothing else has a meaning there: our sessions have
// NO_BACKSLASH_ESCAPES, which the wire checks with each answer. A session that is another's may
// take a backslash, and the bytes of a character, for what it likes: there they go as hexadecimal
// digits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <semel/statement.h>

#include "stores/sql/param.h"

namespace semel::mysql {

// In which sessions a literal means what it should.
enum class Literals { kOurs, kAnyones };

void append_integer(std::string& out, std::int64_t value);
// For where bytes are meant: in a column of them, or beside one.
void append_bytes(std::string& out, BytesView bytes, Literals literals);
void append_text(std::string& out, std::string_view text, Literals literals);
void append_time(std::string& out, StoreTime time);
void append(std::string& out, const sql::Param& param, Literals literals);
// False where it cannot be written: a double that is no number, a decimal with more digits than
// DECIMAL has.
bool append(std::string& out, const Value& value, Literals literals);

// `text` with its ?1, ?2 … written in. No text of ours has a ? in quotes.
std::string filled(std::string_view text, std::span<const sql::Param> params, Literals literals);

// "YYYY-MM-DD hh:mm:ss[.ffffff]" as the server writes it.
StoreTime time_of(std::string_view text) noexcept;

}  // namespace semel::mysql
