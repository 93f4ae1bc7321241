// The journal of a message's steps as bytes: it is in the record itself, and ends with it, whether
// by a completion, an expiry, an eviction or DEL.
//
// It comes after the text of the record's key (record.h): the note of giving up, after 4 bytes of
// its size; reason and error; and the entries, each after 4 bytes of its size, in the order they
// were kept. An entry that is kept again is there twice, and the later one counts.
//
//   note: 4 attempts · 4 tries of the undo · reason behind 4 bytes of its size · error
//   entry: 1 state, a letter · 4 round · 16 input · name and id, each behind 4 bytes of its size ·
//   result
#pragma once

#include <semel/spi/step_store.h>

namespace semel::redis {

// The journal of a record. Empty where it has none. Throws core::Failure as decoded().
StepJournal journal_in(BytesView record);

// The entry, after its size.
Bytes sized_entry(const StepEntry& entry);
Bytes note_of(const GivingUp& note);

}  // namespace semel::redis
