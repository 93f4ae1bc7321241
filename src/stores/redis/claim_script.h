// The script of Scripts::claim, where its arguments and answers are told. Places in a record are
// those that record.h names.
#pragma once

namespace semel::redis {

// What is the same for all claims of a command, and what runs for each: see Script.
extern const char* const kBeforeClaimScript;
extern const char* const kClaimScript;

}  // namespace semel::redis
