// Whether the tables agree with each other, and the pages with themselves.
#pragma once

#include <vector>

#include <semel/records.h>

#include "stores/sqlite/tables.h"

namespace semel::sqlite {

// Inside an open transaction, which it does not write in. Throws Failure.
std::vector<StoreFinding> verify_in(Tables& tables, Connection& connection, bool full);

}  // namespace semel::sqlite
