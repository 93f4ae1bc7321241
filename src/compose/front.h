// The window in front of a consumer's records, from its config.
#pragma once

#include "compose/consumer_parts.h"

namespace semel::compose {

// Where the config asks for one. The store keeps positions.
Result<void> add_front(const ConsumerBuild& build, ConsumerNumber number,
                       engine::EngineParts& parts);

}  // namespace semel::compose
