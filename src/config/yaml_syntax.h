// What the parser says, in the words of the file; and whether a text can be a config at all.
#pragma once

#include <string_view>

#include "config/report.h"

namespace semel::config {

// `problem`: the parser's own words, never shown. `at`: where it gave up. `opened`: the innermost
// list or map it was in; line 0 where it was in none.
void report_syntax(std::string_view problem, Place at, const Place& opened, Report& report);

}  // namespace semel::config
