// The version of this library (semantic versioning).
#pragma once

#include <semel/standard.h>

#define SEMEL_VERSION_MAJOR 0
#define SEMEL_VERSION_MINOR 1
#define SEMEL_VERSION_PATCH 0

namespace semel {
const char* version() noexcept;  // "0.1.0", of the library that was linked
}
