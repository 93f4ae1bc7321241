// Row guards: statements that lock or compare a business row before a handler's own. Each is
// recorded in the message's transaction, with the rule that judges its rows.
//
// Thread-safe. They throw PayloadInvalid, naming the param.
#pragma once

#include <functional>

#include <semel/message.h>
#include <semel/result.h>
#include <semel/transaction.h>

#include "core/row_select.h"
#include "core/sql_spec.h"

namespace semel::handlers {

using RowGuard = std::function<void(const Message&, Transaction&)>;

// For pessimistic_lock. Also locks the row's name, made of the SELECT and its values: two messages
// about a row that does not exist yet run one after the other. kRejected, saying what is wrong.
Result<RowGuard> make_lock_guard(const core::LockSpec& spec, core::RowLocks locks,
                                 core::Decimals decimals = core::Decimals::kDoubles);

// For optimistic_lock. The first write to the version's table must change a row.
Result<RowGuard> make_version_guard(const core::VersionSpec& spec, core::RowLocks locks,
                                    core::Decimals decimals = core::Decimals::kDoubles);

}  // namespace semel::handlers
