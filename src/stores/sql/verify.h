// What a look at the whole store finds.
#pragma once

#include <string_view>
#include <vector>

#include <semel/admin/records.h>

#include "stores/sql/database.h"

namespace semel::sql {

// Names and times that differ between databases.
struct VerifyWords {
  std::string_view records;  // where those that are not completed stand
  // When rows are due that are kept for a person, and those that wait for another.
  StoreTime never;
  StoreTime behind;
};

// Each reads one state of the store, beside whatever runs: what belongs together was committed
// together.
struct VerifyTexts {
  explicit VerifyTexts(const Dialect& dialect);
  Text held_rows, dead_letters, inbox;                                 // of nobody
  Text held_missing, held_shared, held_lost, held_stuck, place_twice;  // payloads that wait
  Text open_inbox_missing, held_inbox_missing;
};

// Whether records that are not completed, and all that is kept beside them, agree.
std::vector<StoreFinding> verify_in(Access& access, const VerifyTexts& texts,
                                    const VerifyWords& words);

}  // namespace semel::sql
