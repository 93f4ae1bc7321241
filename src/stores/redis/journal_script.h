// What scripts know about the journal of a record's steps. Its places are those that journal.h
// names.
#pragma once

namespace semel::redis {

// Behind the common functions.
extern const char* const kJournalScript;

// Arguments and answers are told in scripts.h. Behind kJournalScript.
extern const char* const kKeepStepScript;

}  // namespace semel::redis
