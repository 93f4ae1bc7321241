// Makes the window in front of a consumer's records from its config.
#pragma once

#include "compose/consumer_parts.h"

namespace semel::compose {

// Adds one if the config asks for it. The store must keep positions.
Result<void> add_front(const ConsumerBuild& build, ConsumerNumber number,
                       engine::EngineParts& parts);

}  // namespace semel::compose
