// The findings of doctor at the RabbitMQ brokers of a config.
#pragma once

#include <vector>

#include "compose/doctor.h"
#include "config/config.h"

namespace semel::compose {

// Asks a broker for the queue of each consumer that reads from one, within some seconds; consumes
// nothing. Reports the queue (D139), or why a run would not reach it.
std::vector<Finding> look_at_rabbitmq(const config::Config& config);

}  // namespace semel::compose
