// In which order the messages of a batch lock rows of the business.
#pragma once

#include <semel/statement.h>

namespace semel::strategies {

// A strict weak order of lists. Statement by statement it compares first which one it is, then the
// values that say which rows are meant, then the others: lists of one handler are in the order of
// the rows that their first statements lock. Two batches in this order do not wait for each other
// in a ring, as far as each message changes one row, or its rows stand in the same order for all.
bool locks_before(const StatementList& one, const StatementList& other) noexcept;

}  // namespace semel::strategies
