// An operator's changes, each a single step on the server.
#pragma once

#include <string>

#include "stores/redis/scripts.h"

namespace semel::redis {

struct InspectorScripts {
  InspectorScripts(const std::string& clock, bool cluster);

  // Key: a record. Its bytes, and the time.
  Script read;

  // These answer 0 where nothing was changed, 1 where it was, 2 where a live lease holds the
  // record, 3 where the record cannot be read, and 4 where there is none. Keys: the record. The
  // first argument of all is the prefix; then a state's letter and a token's bytes, each of which
  // may be empty: then any matches.
  Script forget;
  // Parked or dead: retrying, due now.
  Script unlock;
  // Lease in ms and its nonce. Parked, or consuming with its lease over: consuming under that one.
  Script seize;

  // For verify. Keys: records. Answer: a letter for each, H where the row that is held for it is
  // missing, else `-`.
  Script check_held;
  // Key: any of a consumer's rows. Ids of its records. Answer: as check_held.
  Script check_linked;
  // Consumer and lane, then numbers of rows. Answer: a letter for each, B where its payload is
  // missing, N where nothing would ever find it, else `-`.
  Script check_rows;

 private:
  InspectorScripts(const std::string& clock, const std::string& rows, bool cluster);
};

}  // namespace semel::redis
