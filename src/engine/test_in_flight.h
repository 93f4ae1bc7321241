// Shared by the tests of InFlightDeliveries: a consumer, and how a delivery lands.
#pragma once

#include "core/tracked_delivery.h"
#include "engine/in_flight_deliveries.h"

namespace semel::engine {

inline constexpr ConsumerNumber kFlightConsumer{7};

inline PendingSettlement pending(const core::TrackedDelivery& delivery) {
  PendingSettlement pending;
  pending.lane = core::LaneName::of(delivery.message);
  pending.bytes = delivery.message.payload().size();
  return pending;
}

}  // namespace semel::engine
