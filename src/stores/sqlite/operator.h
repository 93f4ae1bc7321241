// What an operator's word does to a record, inside an open write transaction.
#pragma once

#include "stores/sqlite/tables.h"

namespace semel::sqlite {

// Parked or dead → retrying, due now, and what is kept for it is held again. False in any other
// state.
bool reopen_record(Tables& tables, const KeyId& id, StoreTime now);

// Parked, or consuming with its lease over → consuming, under that nonce. None in any other state.
std::optional<Lease> seize_record(Tables& tables, const KeyId& id, const Nonce& nonce,
                                  std::chrono::milliseconds lease, StoreTime now);

}  // namespace semel::sqlite
