// Claims that are committed before the work, and the work under their leases; FinishCollector ends
// them.
//
// For state_machine and fence, and for at_most_once one at a time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <semel/spi/claim.h>
#include <semel/spi/delivery.h>

#include "core/tracked_delivery.h"
#include "strategies/calls.h"
#include "strategies/finish_collector.h"
#include "strategies/resolver.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// The deliveries that this worker may run. All lists have the same order.
struct Claimed {
  std::vector<core::TrackedDelivery*> deliveries;
  std::vector<Acquired> rights;
  std::vector<std::chrono::nanoseconds> asked;  // when for each, by Clock::elapsed
  // The error for which deliveries were given back, if any were.
  std::optional<Error> given_back_for;
};

// Claims a batch. Messages that are not acquired end at `collector`, as do, where doubt is parked,
// those whose earlier attempt has an unknown outcome. Where the store cannot answer they end at
// `sink`: failure of the store is never "no record".
Claimed claim_batch(const Context& context, std::span<core::TrackedDelivery> batch,
                    FinishCollector& collector, OutcomeSink& sink);
// Calls `refused` for each message that is not acquired, with its outcome. `sink` is told how long
// other writers were waited for.
using OnRefused = std::function<void(core::TrackedDelivery& delivery, Resolution resolution)>;
Claimed claim_batch(const Context& context, std::span<core::TrackedDelivery> batch,
                    OutcomeSink& sink, const OnRefused& refused);

// At-most-once: never retries an attempt whose outcome is unknown. Its claims survive a power cut:
// a forgotten one would let the message begin a second time.
Context for_one_try(Context context);

// The handlers' calls for the claimed deliveries.
std::vector<Call> calls_of(const Claimed& claimed);

}  // namespace semel::strategies
