// HeldMessages over lanes.
#pragma once

#include <memory>
#include <string>

#include <semel/spi/held_messages.h>

#include "stores/redis/held_rows.h"
#include "stores/redis/parts.h"
#include "stores/redis/store_context.h"

namespace semel::redis {

std::unique_ptr<HeldMessages> make_held(StoreContext& context);

// Adds a row to a call of Scripts::change. `how`: release, hide or remove; `time`: in ms.
void add_change(Parts& parts, const Names& names, const RowPlace& place, BytesView how,
                const std::string& time);

}  // namespace semel::redis
