// Checks that the file is intact, and that its generations agree with each other and with live
// records.
#pragma once

#include <vector>

#include <semel/admin/records.h>

#include "stores/sqlite/tables.h"

namespace semel::sqlite {

// Inside an open transaction, in which they do not write. Both throw Failure.
std::vector<StoreFinding> verify_tables(Tables& tables, Connection& connection, bool full);
std::vector<StoreFinding> verify_generations(Tables& tables, Connection& connection, bool full);

}  // namespace semel::sqlite
