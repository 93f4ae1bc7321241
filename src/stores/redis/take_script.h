// The scripts that look at held rows and take them. They have no functions for each row, for most
// of their time would go into making those: rows of one lane are read and written by one command.
#pragma once

namespace semel::redis {

// Which rows are due; before both.
extern const char* const kDueScript;
extern const char* const kLookScript;
extern const char* const kTakeScript;

}  // namespace semel::redis
