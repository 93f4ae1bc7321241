// Builds and checks the SQL of a config, statement by statement.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/build.h"
#include "core/sql_spec.h"

namespace semel::config {

core::SqlSpec build_sql(const View& sql, Report& report);

// The params of the map `view`, with their names checked.
std::map<std::string, core::SqlParam> build_params(const View& view, Report& report);

// Reports each of `names`, used by `value`, that is not in `params`; false where there is one.
bool check_params(const Setting& value, const std::vector<std::string>& names,
                  const std::map<std::string, core::SqlParam>& params, Report& report);

// Reports each param of the map `view` that is not in `used`.
void check_unused(const View& view, const std::set<std::string>& used, Report& report);

// Strategy query's look: a SELECT whose names are all in `params`.
void check_look(const Setting& look, const core::SqlSpec& spec, Report& report);

// The place of `length` bytes at `offset` of a value's text, if the file shows them; else the
// value's own place.
SourceLocation place_in(const Setting& value, std::size_t offset, std::size_t length,
                        const Report& report);

// The same for `:name` in a statement.
SourceLocation place_of_param(const Setting& value, const std::string& name, const Report& report);

}  // namespace semel::config
