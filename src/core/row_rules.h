// Row guards run before a handler's statements, and judge from the rows they read whether those
// statements may run. Pure; each rule is immutable and thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/spi/recorded_statement.h>

#include "core/sql_spec.h"

namespace semel::core {

// For the rows of `lock_select`: where there are rows, and each is done, the message is a
// duplicate.
std::shared_ptr<const RowsRule> done_rule();

// For one row of one column, the row's version: newer than `version` means that the message is a
// duplicate, older that it came too early and is tried again. `missing`: the meaning of no row.
// With NULL, no integer, or several rows, the message is dead.
std::shared_ptr<const RowsRule> version_rule(std::int64_t version, VersionSpec::Missing missing);

// For the handler's first write after that: a write that changes no row lost against another
// transaction in between, and is tried again.
std::shared_ptr<const RowsRule> written_rule();

}  // namespace semel::core
