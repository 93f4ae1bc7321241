// How a delivery would end, by its record alone: nothing is claimed, handled or settled.
#pragma once

#include <semel/outcome.h>
#include <semel/spi/delivery.h>
#include <semel/spi/store.h>

#include "core/tracked_delivery.h"

namespace semel::engine {

Outcome would_become(Store& store, const core::TrackedDelivery& delivery);

}  // namespace semel::engine
