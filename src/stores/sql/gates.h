// Gates over their rows.
#pragma once

#include <memory>

#include <semel/gates.h>

#include "stores/sql/core.h"

namespace semel::sql {

std::unique_ptr<Gates> make_gates(const Core& core);

}  // namespace semel::sql
