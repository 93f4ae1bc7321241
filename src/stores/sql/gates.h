// Gates over their rows.
#pragma once

#include <memory>

#include <semel/admin/gates.h>

#include "stores/sql/database.h"

namespace semel::sql {

std::unique_ptr<Gates> make_gates(Database& database);

}  // namespace semel::sql
