// RunMarkers over their rows, and the instances that hold their locks.
#pragma once

#include <memory>

#include <semel/spi/run_markers.h>

#include "stores/sql/database.h"

namespace semel::sql {

std::unique_ptr<RunMarkers> make_run_markers(Database& database);

}  // namespace semel::sql
