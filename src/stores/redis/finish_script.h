// The script of finish: records, rows and letters of a batch in one step.
#pragma once

namespace semel::redis {

// Behind kRowScript and kLetterScript. Each entry has a part for the record and one for rows and
// letters: see row_script.h.
extern const char* const kFinishScript;

}  // namespace semel::redis
