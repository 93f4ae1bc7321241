// --set PATH=VALUE: overrides a value of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "config/report.h"

namespace semel::config {

// PATH as in diagnostics: consumers[0].batch.max, or consumers.NAME.batch.max. A VALUE beginning
// with { or [ is read as YAML, any other is text. `origin`: named as its place in diagnostics.
void overlay(Node& root, const std::vector<std::string>& sets, Report& report,
             std::string_view origin);

}  // namespace semel::config
