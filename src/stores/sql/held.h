// The port HeldMessages over the table, for any database server.
#pragma once

#include <memory>

#include <semel/spi/held_messages.h>

#include "stores/sql/core.h"

namespace semel::sql {

std::unique_ptr<HeldMessages> make_held(const Core& core);

}  // namespace semel::sql
