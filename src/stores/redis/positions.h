#pragma once

#include <memory>

#include <semel/spi/run_markers.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// The core outlives it. Each reservation has a connection of its own.
std::unique_ptr<Positions> make_positions(StoreContext& context);

}  // namespace semel::redis
