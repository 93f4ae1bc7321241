// DeadLetters over the tables.
#pragma once

#include <memory>

#include <semel/records.h>

#include "stores/sql/core.h"

namespace semel::sql {

std::unique_ptr<DeadLetters> make_dead_letters(const Core& core);

}  // namespace semel::sql
