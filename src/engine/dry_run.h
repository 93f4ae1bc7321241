// How a delivery would end, by its record alone: nothing is claimed, handled or settled.
#pragma once

#include <semel/outcome.h>
#include <semel/spi/delivery.h>
#include <semel/spi/store.h>

#include "core/tracked_delivery.h"
#include "strategies/age_gate.h"

namespace semel::engine {

// `age_gate`: null where nothing is too old.
Outcome would_become(Store& store, const core::TrackedDelivery& delivery,
                     strategies::AgeGate* age_gate);

}  // namespace semel::engine
