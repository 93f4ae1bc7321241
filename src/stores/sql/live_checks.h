// LiveChecks over what a server tells.
#pragma once

#include <memory>

#include <semel/live_checks.h>

#include "stores/sql/core.h"
#include "stores/sql/facts.h"

namespace semel::sql {

// Both outlive the port.
std::unique_ptr<LiveChecks> make_live_checks(const Core& core, Facts& facts);

}  // namespace semel::sql
