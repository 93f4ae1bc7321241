// Checks a whole store.
#pragma once

#include <string_view>
#include <vector>

#include <semel/admin/records.h>

#include "stores/sql/database.h"

namespace semel::sql {

// Names and times that differ between databases.
struct VerifyWords {
  std::string_view records;  // the table of those that are not completed
  // The due times of rows kept for a person, and of rows that wait for another.
  StoreTime never;
  StoreTime behind;
};

// Each reads one state of the store, while others work: related rows were committed together.
struct VerifyTexts {
  explicit VerifyTexts(const Dialect& dialect);
  SqlText held_rows, dead_letters, inbox;                                 // of no consumer
  SqlText held_missing, held_shared, held_lost, held_stuck, place_twice;  // payloads that wait
  SqlText open_inbox_missing, held_inbox_missing;
};

// Whether records that are not completed agree with everything kept for them.
std::vector<StoreFinding> verify_in(Access& access, const VerifyTexts& texts,
                                    const VerifyWords& words);

}  // namespace semel::sql
