// The port HeldMessages over the table, for any database server.
#pragma once

#include <memory>

#include <semel/held_messages.h>

#include "stores/sql/held_rows.h"
#include "stores/sql/instances.h"
#include "stores/sql/pool.h"

namespace semel::sql {

// All of it outlives the port.
std::unique_ptr<HeldMessages> make_held(Pool& pool, Instances& instances, const HeldTexts& texts,
                                        WakeUps& wake_ups);

}  // namespace semel::sql
