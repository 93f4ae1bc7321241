// The C++ standard that these headers need: with an older one, the compiler prints one line instead
// of hundreds of errors.
#pragma once

#if __cplusplus < 202002L
#error \
    "Semel needs C++20: compile with -std=c++20, in CMake: target_compile_features(... cxx_std_20)"
// A compiler continues after #error, but not after a header that is missing.
#include <semel/standard_is_too_old>
#endif
