// StepStore over the journals in records.
#pragma once

#include <memory>

#include <semel/spi/step_store.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

std::unique_ptr<StepStore> make_steps(StoreContext& context);

}  // namespace semel::redis
