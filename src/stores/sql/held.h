// The port HeldMessages over the table, for any database server.
#pragma once

#include <memory>

#include <semel/spi/held_messages.h>

#include "stores/sql/store_context.h"

namespace semel::sql {

std::unique_ptr<HeldMessages> make_held(const StoreContext& context);

}  // namespace semel::sql
