// StepStore over the journals that stand in records.
#pragma once

#include <memory>

#include <semel/steps.h>

#include "stores/redis/core.h"

namespace semel::redis {

std::unique_ptr<StepStore> make_steps(Core& core);

}  // namespace semel::redis
