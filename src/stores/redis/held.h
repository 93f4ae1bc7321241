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

struct RowChange {
  BytesView how;     // release, hide or remove
  std::string time;  // in ms
  Bytes by;          // Instance::begins_takes of the caller: no other's rows are released or hidden
};
// Adds a row to a call of Scripts::change.
void add_change(Parts& parts, const Names& names, const RowPlace& place, const RowChange& change);

}  // namespace semel::redis
