// --set PATH=VALUE: a value over the file's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "config/report.h"

namespace semel::config {

// PATH as in diagnostics: consumers[0].batch.max, or consumers.NAME.batch.max. A VALUE beginning
// with { or [ is read as YAML, any other is text. `origin`: what diagnostics name as its place.
void overlay(Node& root, const std::vector<std::string>& sets, Report& report,
             std::string_view origin);

}  // namespace semel::config
