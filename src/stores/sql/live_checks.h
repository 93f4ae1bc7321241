// LiveChecks over what a server tells.
#pragma once

#include <memory>

#include <semel/live_checks.h>

#include "stores/sql/facts.h"
#include "stores/sql/pool.h"

namespace semel::sql {

// Both outlive the port.
std::unique_ptr<LiveChecks> make_live_checks(Pool& pool, Facts& facts);

}  // namespace semel::sql
