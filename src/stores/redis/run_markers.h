// RunMarkers by connections.
//
// An instance that runs consumers keeps one connection open for as long as it lives, and names it
// in its marker. Where the server lists its connections, an instance whose connection is gone is
// dead: a process that is only stopped keeps it. A live one whose connection was cut opens another
// with its next sweep, so what it holds is freed only if its last sign is some seconds old too.
//
// Where an instance gave no sign for that long, it first asks under which name it is known, before
// it claims or renews, and again if that took so long: nothing that it holds by then is free to
// others although it was just claimed or renewed. An instance that was found dead takes another
// name. Its leases are over until it renews them, which puts them under the new name.
//
// Where that is unknown (the server was restarted since, or does not list connections) nothing is
// freed before its time; an instance that gives no sign for kAlive is reported as dead all the
// same: the messages it had taken are then handled as suspects.
#pragma once

#include <chrono>
#include <memory>

#include <semel/spi/run_markers.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// How long a sign of life is valid.
inline constexpr std::chrono::milliseconds kAlive{15'000};
// The minimum age of the last sign of an instance without a connection.
inline constexpr std::chrono::milliseconds kSure{3'000};
// After its last sign an instance is certain for so long that nobody has found it dead. Less than
// kSure, since clocks run differently.
inline constexpr std::chrono::milliseconds kSureOfSign{2'500};

std::unique_ptr<RunMarkers> make_run_markers(StoreContext& context);

}  // namespace semel::redis
