// The SQL handler: statements from a config, run in the store's transaction.
#pragma once

#include <semel/handler.h>
#include <semel/result.h>

#include "core/sql_spec.h"

namespace semel::handlers {

// kRejected, naming the statement, when one is not admitted or names an unknown parameter. The
// handler parses a message's JSON once for all its statements. `decimals`: of the store.
Result<TransactionalHandler> make_sql_handler(const core::SqlSpec& spec,
                                              core::Decimals decimals = core::Decimals::kDoubles);

// The same as the second part of a two-part handler: parameters may be taken from the call's
// answer, which must be JSON then; otherwise the message becomes a dead letter.
Result<ApplyHandler> make_sql_apply(const core::SqlSpec& spec,
                                    core::Decimals decimals = core::Decimals::kDoubles);

}  // namespace semel::handlers
