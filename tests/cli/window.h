// How the deliveries of a run behind a window ended, as it prints them.
#pragma once

#include <cstddef>
#include <functional>

#include "tests/cli/program.h"

namespace semel::test {

struct Endings {
  std::size_t done = 0;
  std::size_t by_window = 0;  // duplicates that it answered
  std::size_t by_record = 0;  // and those that came to the store

  std::size_t all() const { return done + by_window + by_record; }
};
Endings endings_of(const Program& run);

// Has `count` messages that are completed sent again until the window answers all of them at once:
// on a busy machine it is not believed for a while, and another process that begins makes it
// forget.
bool window_answers(const Program& run, std::size_t count, const std::function<void()>& send);

}  // namespace semel::test
