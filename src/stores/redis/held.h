// HeldMessages over lanes.
#pragma once

#include <memory>

#include <semel/held_messages.h>

#include "stores/redis/core.h"

namespace semel::redis {

std::unique_ptr<HeldMessages> make_held(Core& core);

}  // namespace semel::redis
