// The findings of doctor at the NATS servers of a config.
#pragma once

#include <vector>

#include "compose/doctor.h"
#include "config/config.h"

namespace semel::compose {

// Asks a server for each consumer that reads from one, within some seconds; consumes nothing. What
// the consumer's limits and the stream's keeping mean for the promise: D102, D121, D122, D123.
std::vector<Finding> look_at_nats(const config::Config& config);

}  // namespace semel::compose
