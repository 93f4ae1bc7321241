// Reports a field that the schema does not have there: which one was meant, or where it belongs.
#pragma once

#include <string>

#include "config/node.h"
#include "config/report.h"
#include "config/schema.h"

namespace semel::config {

// E013 where the name is a field elsewhere, else E012. `path`: of the map that contains it.
void report_unknown_field(const Field& map, const Node::Member& member, const std::string& path,
                          Report& report);

}  // namespace semel::config
