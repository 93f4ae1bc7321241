// Whether the file is whole, and its generations agree with each other and with what is live.
#pragma once

#include <vector>

#include <semel/admin/records.h>

#include "stores/sqlite/tables.h"

namespace semel::sqlite {

// Inside an open transaction, which they do not write in. Both throw Failure.
std::vector<StoreFinding> verify_tables(Tables& tables, Connection& connection, bool full);
std::vector<StoreFinding> verify_generations(Tables& tables, Connection& connection, bool full);

}  // namespace semel::sqlite
