// Row guards: the statements that lock or compare a business row before a handler's own. Each is
// recorded in the message's transaction, with the rule that judges its rows.
//
// They may be called by several threads and throw PayloadInvalid, naming the param.
#pragma once

#include <functional>

#include <semel/message.h>
#include <semel/result.h>
#include <semel/transaction.h>

#include "core/row_select.h"
#include "core/sql_spec.h"

namespace semel::handlers {

using RowGuard = std::function<void(const Message&, Transaction&)>;

// Of pessimistic_lock. Locks the row's name too, made of the SELECT and its values: two messages
// about a row that is not there yet come one after the other. kRejected, saying what is wrong.
Result<RowGuard> make_lock_guard(const core::LockSpec& spec, core::RowLocks locks,
                                 core::Decimals decimals = core::Decimals::kDoubles);

// Of optimistic_lock. What first writes the version's table must change a row.
Result<RowGuard> make_version_guard(const core::VersionSpec& spec, core::RowLocks locks,
                                    core::Decimals decimals = core::Decimals::kDoubles);

}  // namespace semel::handlers
