// Replaces ${X} and similar forms in the values of a config, after parsing: names are never
// changed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/node.h"
#include "config/report.h"

namespace semel::config {

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

// Replaces, in every value below `root`: ${X}, ${X:-default}, ${X:?why}, ${file:path} (relative to
// `folder`), ${cred:name}, $${ for a literal ${. All missing names make one report.
void interpolate(Node& root, const Lookup& env, const std::string& folder, Report& report);

}  // namespace semel::config
