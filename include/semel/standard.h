// The C++ standard that these headers need: where it is older, one line says so instead of
// hundreds.
#pragma once

#if __cplusplus < 202002L
#error \
    "Semel needs C++20: compile with -std=c++20, in CMake: target_compile_features(... cxx_std_20)"
// A compiler goes on behind #error, but not behind a header that is not there.
#include <semel/standard_is_too_old>
#endif
