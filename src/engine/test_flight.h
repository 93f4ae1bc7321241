// Shared by the tests of Flight: a consumer, and how a delivery lands.
#pragma once

#include "core/tracked_delivery.h"
#include "engine/flight.h"

namespace semel::engine {

inline constexpr ConsumerNumber kFlightConsumer{7};

inline Landing landing(const core::TrackedDelivery& delivery) {
  Landing landing;
  landing.ordering_key = delivery.message.ordering_key();
  landing.bytes = delivery.message.payload().size();
  return landing;
}

}  // namespace semel::engine
