// A process of a test that ends at a failpoint.
#pragma once

#include <unistd.h>

#include <string_view>

#include "tests/support/test_environment.h"

namespace semel::redis {

inline constexpr int kEnded = 3;  // its exit code

inline void end_at(test::HookedFailpoints& failpoints, std::string_view point) {
  failpoints.on(point, [] { ::_exit(kEnded); });
}

}  // namespace semel::redis
