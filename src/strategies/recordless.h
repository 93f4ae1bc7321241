// Work that leaves no record: what natural and query have in common.
#pragma once

#include <span>

#include <semel/delivery.h>
#include <semel/strategy.h>

#include "strategies/strategies.h"

namespace semel::strategies {

// Runs every message of `batch`. What succeeds is settled, what fails is held for later or kept as
// a dead letter; with a transactional handler, in the transaction of the work.
void run_without_record(const Context& context, std::span<Delivery* const> batch, EndingSink& sink);

}  // namespace semel::strategies
