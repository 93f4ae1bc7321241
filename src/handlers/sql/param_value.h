// Converts a message's value into a statement's parameter. Pure.
#pragma once

#include <string_view>

#include <semel/statement.h>

#include "base/json.h"
#include "core/sql_spec.h"

namespace semel::handlers {

// Converts only without loss; only type `real` takes the nearest double. Throws PayloadInvalid,
// naming the parameter and the value found.
Value param_value(std::string_view name, const core::SqlParam& param, core::Decimals decimals,
                  json::Scalar scalar);

}  // namespace semel::handlers
