// What a look at the whole store finds.
#pragma once

#include <vector>

#include <semel/records.h>

#include "stores/sql/tables.h"

namespace semel::sql {

// Each reads one state of the store, beside whatever runs: what belongs together was committed
// together.
struct VerifyTexts {
  explicit VerifyTexts(const Dialect& dialect);
  Text held_rows, dead_letters, inbox;                                 // of nobody
  Text held_missing, held_shared, held_lost, held_stuck, place_twice;  // payloads that wait
  Text open_inbox_missing, held_inbox_missing;
  Text open_twice;
  // Each reads all records.
  Text twice, inbox_missing, generation_unknown;
};

std::vector<StoreFinding> verify_in(Tables& tables, Session& session, const VerifyTexts& texts,
                                    bool full);

}  // namespace semel::sql
