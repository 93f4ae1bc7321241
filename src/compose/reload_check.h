// Looks beside a run for what a start would find wrong in another config.
#pragma once

#include <semel/result.h>
#include <semel/spi/store.h>

#include "compose/compose.h"
#include "compose/live.h"
#include "config/config.h"
#include "config/difference.h"

namespace semel::compose {

// kRejected where a statement cannot run at all: no run begins on it.
Result<void> refuse_missing(const Live& live);

// The consumers of `next` that come or change. Opens none of their sources, and changes nothing in
// the store. Asks brokers for some seconds each: one that does not answer is asked by the source
// again.
Result<void> check_consumers(Store& store, const ServiceOptions& options,
                             const config::Config& next, const config::Difference& difference);

}  // namespace semel::compose
