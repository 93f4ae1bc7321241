// The scripts of completions, which most ends are. Each does what the script of finish would do,
// for a part of the time: that one first makes its functions, and these need none.
#pragma once

namespace semel::redis {

// Completions without a row. Runs once for each call of a bundle: see Script.
extern const char* const kBeforeComplete;
extern const char* const kComplete;

// Completions, and the rows that go with them or alone.
extern const char* const kCompleteRows;

}  // namespace semel::redis
