// The findings of doctor at the NATS servers of a config.
#pragma once

#include <vector>

#include <semel/result.h>

#include "compose/doctor.h"
#include "config/config.h"

namespace semel::compose {

// Asks a server for each consumer that reads from one, within some seconds; consumes nothing.
// Tells how the consumer's limits and the stream's retention affect the promise: D102, D121, D122,
// D123. And E053, where a consumer is given its own messages.
std::vector<Finding> look_at_nats(const config::Config& config);

// Why a consumer that reads from NATS cannot run: what no waiting mends, as a run would refuse it,
// or that its stream brings it what it publishes (E053). Asks as above; nothing of other consumers,
// nor where no server answers.
Result<void> refuse_nats(const config::ConsumerConfig& consumer);

}  // namespace semel::compose
