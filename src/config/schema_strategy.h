// The schema of the parts of single strategies: `query:`, `lock:` and `version:`.
#pragma once

#include "config/member.h"
#include "config/schema.h"
#include "config/schema_handler.h"

namespace semel::config {

inline constexpr Field kQueryFields[] = {
    {.name = "exists",
     .shape = Shape::kSql,
     .meaning = "A SELECT with the handler's params; a row means that the effect is there.",
     .required = true},
};

inline constexpr Field kGuardParams = {
    .name = "params",
    .shape = Shape::kDictionary,
    .meaning = "Values for it, as those of `handler.sql`, which are the default.",
    .fields = kParamField};

inline constexpr Field kLockFields[] = {
    {.name = "select",
     .shape = Shape::kSql,
     .meaning = "The business row, with `:name` for each param: `SELECT … FOR UPDATE`. On SQLite "
                "FOR UPDATE may stand there and is left out.",
     .member = &kMember<&core::LockSpec::select>,
     .required = true},
    {.name = "done_when",
     .shape = Shape::kSql,
     .meaning = "A condition over the row, in SQL. Where it holds the message is a duplicate; "
                "where it is NULL, or there is no row, the handler runs. Of several rows each must "
                "be done.",
     .member = &kMember<&core::LockSpec::done_when>,
     .required = true},
    kGuardParams,
};

inline constexpr Field kVersionFields[] = {
    {.name = "from",
     .shape = Shape::kPointer,
     .meaning = "Where the message says which version its change is based on: an integer.",
     .required = true},
    {.name = "current",
     .shape = Shape::kSql,
     .meaning = "A SELECT of the version that the row has, with `:name` for each param. Newer than "
                "the message's: a duplicate; older: it came too early, and is retried.",
     .member = &kMember<&core::VersionSpec::current>,
     .required = true},
    {.name = "missing",
     .shape = Shape::kWord,
     .meaning = "What a message becomes whose row is not there. `handle`: the handler runs.",
     .member = &kMember<&core::VersionSpec::missing>,
     .words = "retry|handle|duplicate|dead_letter"},
    kGuardParams,
};

}  // namespace semel::config
