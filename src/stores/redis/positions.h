#pragma once

#include <memory>

#include <semel/environment.h>
#include <semel/run_markers.h>

#include "stores/redis/names.h"
#include "stores/redis/pool.h"

namespace semel::redis {

// `connect` makes a connection that a reservation keeps for itself. The others outlive it.
std::unique_ptr<Positions> make_positions(Pool& pool, const Names& names, Pool::Connect connect,
                                          Environment& environment);

}  // namespace semel::redis
