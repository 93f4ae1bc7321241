// The room's errors: those of every store that throws inside and returns a Result.
#pragma once

#include "core/failure.h"

namespace semel::sqlite {

using core::contained;
using core::fail;
using core::Failure;

}  // namespace semel::sqlite
