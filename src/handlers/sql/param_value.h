// What a statement's parameter is, given what stands in the message. Pure.
#pragma once

#include <string_view>

#include <semel/statement.h>

#include "base/json.h"
#include "core/sql_spec.h"

namespace semel::handlers {

// Converts only where nothing is lost; type `real` alone takes the nearest double. Throws
// PayloadInvalid, naming the parameter and what stands there.
Value param_value(std::string_view name, const core::SqlParam& param, core::Decimals decimals,
                  json::Scalar scalar);

}  // namespace semel::handlers
