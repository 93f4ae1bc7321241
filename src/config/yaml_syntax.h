// Reports parse errors in terms of the file; and checks whether a text can be a config at all.
#pragma once

#include <string_view>

#include "config/report.h"

namespace semel::config {

// `problem`: the parser's own words, never shown. `at`: where it gave up. `opened`: the innermost
// list or map around it; line 0 where there is none.
void report_syntax(std::string_view problem, SourceLocation at, const SourceLocation& opened,
                   Report& report);

}  // namespace semel::config
