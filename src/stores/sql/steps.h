// StepStore over its rows.
#pragma once

#include <memory>

#include <semel/steps.h>

#include "stores/sql/core.h"

namespace semel::sql {

std::unique_ptr<StepStore> make_steps(const Core& core);

}  // namespace semel::sql
