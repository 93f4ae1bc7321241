// DeadLetters over the tables.
#pragma once

#include <memory>

#include <semel/admin/records.h>

#include "stores/sql/database.h"

namespace semel::sql {

std::unique_ptr<DeadLetters> make_dead_letters(Database& database);

}  // namespace semel::sql
