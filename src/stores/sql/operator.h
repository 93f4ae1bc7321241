// What an operator's word does to a record, inside an open transaction.
#pragma once

#include "stores/sql/tables.h"

namespace semel::sql {

// Parked or dead → retrying, due now, and what is kept for it is held again. False in any other
// state.
bool reopen_record(Tables& tables, const KeyId& id, StoreTime now);

}  // namespace semel::sql
