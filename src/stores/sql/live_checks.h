// LiveChecks over a database's LiveFacts.
#pragma once

#include <memory>

#include <semel/spi/live_checks.h>

#include "stores/sql/database.h"
#include "stores/sql/facts.h"

namespace semel::sql {

// Both arguments must outlive the port.
std::unique_ptr<LiveChecks> make_live_checks(Database& database, LiveFacts& facts);

}  // namespace semel::sql
