// RunMarkers by connections.
//
// An instance that runs consumers keeps one connection open for as long as it lives, and says which
// it is. Where the server tells who is connected to it, one whose connection is gone is gone: a
// process that only stands still keeps it. A live one whose connection was cut opens another with
// its next sweep, so what it holds is freed only where its last sign is some seconds old too.
//
// Where that cannot be told (the server was started anew since, or says nothing of connections)
// nothing is freed before its time; who gives no sign for kAlive is told as died all the same: what
// it had in hand is then handled with suspicion.
#pragma once

#include <chrono>
#include <memory>

#include <semel/spi/run_markers.h>

#include "stores/redis/core.h"

namespace semel::redis {

// How long a sign of life holds.
inline constexpr std::chrono::milliseconds kAlive{15'000};
// How old the last one of an instance without connection must be.
inline constexpr std::chrono::milliseconds kSure{3'000};

std::unique_ptr<RunMarkers> make_run_markers(Core& core);

}  // namespace semel::redis
