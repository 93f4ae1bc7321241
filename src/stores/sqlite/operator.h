// What an operator's word does to a record, inside an open write transaction.
#pragma once

#include "stores/sqlite/tables.h"

namespace semel::sqlite {

// Parked or dead → retrying, due now, and what is kept for it is held again. False in any other
// state.
bool reopen_record(Tables& tables, const KeyId& id, StoreTime now);

}  // namespace semel::sqlite
