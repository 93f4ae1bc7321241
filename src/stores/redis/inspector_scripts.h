// What an operator may change, each a step of its own on the server.
#pragma once

#include <string>

#include "stores/redis/scripts.h"

namespace semel::redis {

struct InspectorScripts {
  explicit InspectorScripts(const std::string& clock);

  // Both answer 0 where nothing was changed, 1 where it was, 2 where a live lease holds the record,
  // and 3 where what stands there cannot be read. Keys: the record.

  // Arguments: a state's letter and a token's bytes, of which each may be nothing: then any does.
  Script forget;
  // Parked or dead: retrying, due now.
  Script unlock;
};

}  // namespace semel::redis
