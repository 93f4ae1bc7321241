// What the rows that a row guard reads mean: it is put before a handler's statements and says
// whether they may stand. Pure; each rule is immutable and may be asked by any thread.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/spi/recorded_statement.h>

#include "core/sql_spec.h"

namespace semel::core {

// Over what `lock_select` made: where there are rows, and each is done, the message is a duplicate.
std::shared_ptr<const RowsRule> done_rule();

// Over one row of one column, the version that the row has: newer than `version` means that the
// message is a duplicate, older that it came too early and is tried again. `missing`: what no row
// means. NULL, no integer, several rows: the message is dead.
std::shared_ptr<const RowsRule> version_rule(std::int64_t version, VersionSpec::Missing missing);

// Over the handler's first write behind that: one that changes no row lost against another
// transaction in between, and is tried again.
std::shared_ptr<const RowsRule> written_rule();

}  // namespace semel::core
