// The SQL of a config: built into its spec, and checked statement by statement.
#pragma once

#include <string>

#include "config/build.h"
#include "core/sql_spec.h"

namespace semel::config {

core::SqlSpec build_sql(const View& sql, Report& report);

// Strategy query's look: a SELECT whose names are all in `params`.
void check_look(const Setting& look, const core::SqlSpec& spec, Report& report);

// The place of `length` bytes at `offset` of a value's text, where the file shows them; else the
// value's own place.
Place place_in(const Setting& value, std::size_t offset, std::size_t length, const Report& report);

// Of `:name` in a statement, likewise.
Place place_of_param(const Setting& value, const std::string& name, const Report& report);

}  // namespace semel::config
