// The script of finish: records, rows and letters of a batch in one step.
#pragma once

namespace semel::redis {

// Ends batches that concern nothing but records, which are most, before the functions that know of
// rows are made: those take as long as such an end of one record. What it leaves goes on to the
// next. Behind kJournalScript.
extern const char* const kPlainFinishScript;

// What rows and letters take from a Finish. Behind kRowScript and kLetterScript.
extern const char* const kKeepScript;

// Behind all of these. Each entry has a part for the record and one for rows
// and letters: see row_script.h.
extern const char* const kFinishScript;

}  // namespace semel::redis
