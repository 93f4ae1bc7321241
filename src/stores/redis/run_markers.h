// RunMarkers by signs of life.
//
// A server cannot prove that a process is gone, so an instance that runs consumers gives a sign
// with each sweep, and counts as gone once it has given none for kAlive: also one that was only
// stopped for so long, or cut off. It loses what it held as it would by the end of its leases: what
// others took over it cannot end any more. When it comes back it goes on under another name.
#pragma once

#include <chrono>
#include <memory>

#include <semel/run_markers.h>

#include "stores/redis/core.h"

namespace semel::redis {

inline constexpr std::chrono::milliseconds kAlive{15'000};

std::unique_ptr<RunMarkers> make_run_markers(Core& core);

}  // namespace semel::redis
