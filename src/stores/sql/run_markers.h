// RunMarkers over their rows, and the instances that hold their locks.
#pragma once

#include <memory>

#include <semel/run_markers.h>

#include "stores/sql/core.h"

namespace semel::sql {

std::unique_ptr<RunMarkers> make_run_markers(const Core& core);

}  // namespace semel::sql
