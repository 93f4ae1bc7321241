// Checks that the server is the only one that writes.
#pragma once

#include "stores/mysql/wire.h"

namespace semel::mysql {

// Throws Failure (R257) where other servers of its cluster take writes too: the locks that prove a
// process alive work on one server only.
void need_one_primary(Wire& wire);

}  // namespace semel::mysql
