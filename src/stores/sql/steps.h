// StepStore over its rows.
#pragma once

#include <memory>

#include <semel/spi/step_store.h>

#include "stores/sql/database.h"

namespace semel::sql {

std::unique_ptr<StepStore> make_steps(Database& database);

}  // namespace semel::sql
