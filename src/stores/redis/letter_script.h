// The scripts of dead letters. Each stands behind kRowScript and kLetterScript, replay and unlock
// behind kReopenScript too.
#pragma once

namespace semel::redis {

// Arguments and answers are told in scripts.h.
extern const char* const kLetterHeadsScript;
extern const char* const kListLettersScript;
extern const char* const kReplayScript;
extern const char* const kDiscardScript;
extern const char* const kEditScript;
extern const char* const kAddScript;
extern const char* const kUnlockScript;

}  // namespace semel::redis
