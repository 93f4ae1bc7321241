// A record as bytes under its name.
//
// Binary, with fixed offsets, because scripts must read and write it: cutting a few bytes out of a
// value costs them less than parsing text, and completed records, which are most, stay so small
// that Redis stores them in one allocation with their header. All numbers are big-endian.
//
//   1 version · 1 state, a letter · 1 flags · 4 attempt · 7 token · 6 first seen · 6 until · 16
//   fingerprint
//   consuming only: 16 nonce
//   not completed: 4 size of the key's text, and the text
//   version 2 only: the journal, in parts: see journal.h
//   reason, error, result; nothing where all are empty, else each of the first two behind 4 bytes
//   of its size
//
// Version 1 is a record without a journal of steps, 2 one with a journal: an older Semel, which
// would drop the journal, refuses version 2.
//
// Times are milliseconds since 1970 by the server's clock. `until`: the lease's end, when a retry
// is due, or when it was completed. Flags: 1 its outcome is unknown, 2 a row is held for it.
#pragma once

#include <cstddef>
#include <string>

#include <semel/spi/record_machine.h>

namespace semel::redis {

// Offsets of the parts, for the scripts too; they count from 1.
inline constexpr char kFormat = 1;
inline constexpr char kJournalFormat = 2;
inline bool is_known_format(char format) noexcept {
  return format == kFormat || format == kJournalFormat;
}
inline constexpr std::size_t kHead = 42;
inline constexpr std::size_t kNonceEnd = kHead + 16;

// Decodes a record or its beginning: parts that are cut off stay empty. Throws core::Failure (R210)
// where a newer Semel has written it, and R202 where it is none.
spi::Record decoded(BytesView bytes);

// The bytes after the key's text. A result may be appended: the last part has no size.
Bytes ending_of(BytesView reason, BytesView error, BytesView result);

}  // namespace semel::redis
