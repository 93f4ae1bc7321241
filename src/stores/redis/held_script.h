// The scripts of held messages. Each stands behind kRowScript.
#pragma once

namespace semel::redis {

// Arguments behind the prefix, and answers, are told in scripts.h.
extern const char* const kAppendScript;
// Both behind kMergeScript.
extern const char* const kMergeScript;
extern const char* const kLookScript;
extern const char* const kTakeScript;

extern const char* const kHoldBehindScript;
extern const char* const kChangeScript;
extern const char* const kDepthScript;
extern const char* const kLinesScript;

}  // namespace semel::redis
