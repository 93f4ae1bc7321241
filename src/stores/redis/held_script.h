// The scripts of held messages. Each stands behind kRowScript.
#pragma once

namespace semel::redis {

// Arguments behind the prefix, and answers, are told in scripts.h.
extern const char* const kAppendScript;
extern const char* const kHoldBehindScript;
extern const char* const kChangeScript;
extern const char* const kDepthScript;
extern const char* const kLinesScript;

}  // namespace semel::redis
