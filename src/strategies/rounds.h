// Rounds: a batch that has messages behind others of their ordering key, for state_machine.
//
// All are claimed together. Then the first message of each key runs, and its end is recorded; then
// the second. Where one comes again, those behind it are given back before it is reported: untried,
// and not counted. If the store is unavailable then, their leases end by themselves.
#pragma once

#include <span>

#include <semel/spi/delivery.h>
#include "strategies/strategy.h"

#include "strategies/strategies.h"

namespace semel::strategies {

// Whether such batches may be taken: the handler is called outside of a transaction, and is over
// when it returns.
bool runs_in_rounds(const Context& context) noexcept;
bool needs_rounds(std::span<const core::TrackedDelivery> batch) noexcept;

// Every delivery of `batch` is handled and ends at `sink`.
void run_rounds(const Context& context, std::span<core::TrackedDelivery> batch, OutcomeSink& sink);

}  // namespace semel::strategies
