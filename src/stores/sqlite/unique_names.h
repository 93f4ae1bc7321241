// The names of the unique constraint that SQLite reports as violated.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <semel/spi/recorded_statement.h>

#include "core/unique_rules.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {

// From SQLite's own message alone: table and columns, or, for an index over an expression, its
// name. nullopt where it reports no such violation.
std::optional<core::UniqueName> unique_name_in(std::string_view said);

// All unique constraints of the schema. Throws Failure.
std::vector<core::UniqueName> unique_names_in(Connection& connection);

// The rule that names it; null where none does. The schema is read only where the message does not
// decide: for the names of indexes, and for the expressions of one. Throws Failure.
const UniqueRule* rule_for(const std::vector<UniqueRule>& rules, std::string_view said,
                           Connection& connection);

}  // namespace semel::sqlite
