// A system call that a test cannot do without.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace semel::test {

// Ends the process where it failed, with the text of errno.
inline void must(bool well, const char* what) {
  if (well) return;
  std::perror(what);
  std::abort();
}

}  // namespace semel::test
