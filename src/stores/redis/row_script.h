// What scripts know about held rows and dead letters, as text that stands before theirs.
//
// The layout is one for a single server and for a Cluster: all of a row stands in one lane, whose
// name's braces choose its node, and so does all of a record. A script that changes a record and a
// row in one step needs both on one node, as a single server has them. On a Cluster the same
// functions would be run in stages, each on the node it concerns: rows and letters that are kept
// first, then the record, then rows that go. Whatever stops it in between leaves a row too many,
// which meets its record when it comes, and never one too few.
#pragma once

namespace semel::redis {

// Rows. Behind the common functions; the prefix of all names is the first argument.
extern const char* const kRowScript;

// Dead letters. Behind kRowScript.
extern const char* const kLetterScript;

// What lets a closed record go on. Behind kLetterScript and kJournalScript.
extern const char* const kReopenScript;

}  // namespace semel::redis
