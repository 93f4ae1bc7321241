// Claims committed before the work, and the work under their leases; Finisher ends what they began.
//
// For state_machine and fence, and for at_most_once one at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <semel/spi/claim.h>
#include <semel/spi/delivery.h>

#include "core/tracked_delivery.h"
#include "strategies/calls.h"
#include "strategies/endings.h"
#include "strategies/finisher.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// What this worker may run. Both lists have the same order.
struct Claimed {
  std::vector<core::TrackedDelivery*> deliveries;
  std::vector<Acquired> rights;
  // For which error deliveries were given back, if any were.
  std::optional<Error> given_back_for;
};

// Claims a batch. What is not acquired ends at `finisher`, and where doubt is parked what a try
// before left in the dark; or, where the store cannot say, at `sink`: failure of the store is never
// "no record".
Claimed claim_batch(const Context& context, std::span<core::TrackedDelivery> batch,
                    Finisher& finisher, EndingSink& sink);
// Calls `refused` for each message that is not acquired, with how it ends.
using OnRefused = std::function<void(core::TrackedDelivery& delivery, Ending ending)>;
Claimed claim_batch(const Context& context, std::span<core::TrackedDelivery> batch,
                    const OnRefused& refused);

// Of whom nothing that may have had its effect is tried again. A claim outlives a power cut: one
// that was forgotten would let the message begin a second time.
Context for_one_try(Context context);

// The handlers' calls for what was claimed.
std::vector<Call> calls_of(const Claimed& claimed);

}  // namespace semel::strategies
