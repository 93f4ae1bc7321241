// The journal of a message's steps as bytes: it stands in the record itself, whose life it shares
// whatever ends that: a completion, an expiry, an eviction, DEL.
//
// A record has it behind the text of its key (record.h): the note of giving up, behind 4 bytes of
// its size; reason and error; and the entries, each behind 4 bytes of its size, in the order they
// were kept. One that is kept again stands there twice, and the later one counts.
//
//   note: 4 attempts · 4 tries of the undo · reason behind 4 bytes of its size · error
//   entry: 1 state, a letter · 4 round · 16 input · name and id, each behind 4 bytes of its size ·
//   result
#pragma once

#include <semel/spi/step_store.h>

namespace semel::redis {

// What stands in a record. Empty where it has none. Throws core::Failure as decoded().
StepJournal journal_in(BytesView record);

// Behind its size.
Bytes sized_entry(const StepEntry& entry);
Bytes note_of(const GivingUp& note);

}  // namespace semel::redis
