// How much of a long test runs: all of it at night.
#pragma once

#include <cstddef>

namespace semel::test {

// True in ./test --nightly and --soak.
bool is_night();
// 1 in ./test and ./test --nightly, 10 with --soak.
std::size_t soak_factor();
// The number of rounds of a test that has `of_a_night` at night: a third in ./test, but at least
// two; ten times as many with --soak.
std::size_t rounds(std::size_t of_a_night);
// As above, with `of_a_day` in ./test.
std::size_t rounds(std::size_t of_a_night, std::size_t of_a_day);

}  // namespace semel::test
