// A record as the bytes that stand under its name.
//
// Binary, of fixed places, because a script has to read and write it: a few bytes cut out of a
// value cost it less than any text to be parsed, and what is completed, which is most of what is
// there, stays so small that Redis keeps it in one piece of memory with its own head. All numbers
// are big-endian.
//
//   1 version · 1 state, a letter · 1 flags · 4 attempt · 7 token · 6 first seen · 6 until · 16
//   fingerprint
//   consuming only: 16 nonce
//   not completed: 4 size of the key's text, and the text
//   version 2 only: the journal, in parts: see journal.h
//   reason, error, result; nothing where all are empty, else each of the first two behind 4 bytes
//   of its size
//
// Version 1 is a record without a journal of steps, 2 one with it: an older Semel, which would drop
// the journal, refuses that.
//
// Times are milliseconds since 1970 by the server's clock. `until`: the lease's end, when a retry
// is due, or when it was completed. Flags: 1 its outcome is unknown, 2 a row is held for it.
#pragma once

#include <cstddef>
#include <string>

#include <semel/spi/record_machine.h>

namespace semel::redis {

// Where the parts stand, for the scripts too; they count from 1.
inline constexpr char kFormat = 1;
inline constexpr char kJournalFormat = 2;
inline bool is_known_format(char format) noexcept {
  return format == kFormat || format == kJournalFormat;
}
inline constexpr std::size_t kHead = 42;
inline constexpr std::size_t kNonceEnd = kHead + 16;

// Of a record or its beginning: what is cut off stays empty. Throws core::Failure (R210) where a
// newer Semel has written it, and R202 where it is none.
spi::Record decoded(BytesView bytes);

// What stands behind the key's text. A result may follow it: the last part has no size.
Bytes ending_of(BytesView reason, BytesView error, BytesView result);

}  // namespace semel::redis
