// Backoff: the waits between tries of something that met another, or a store that is away.
#pragma once

#include <chrono>

#include <semel/environment.h>

namespace semel::strategies {

class Backoff {
 public:
  Backoff(Random& random, std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : random_(random), next_(first), longest_(longest) {}

  // Sleeps; each time about twice as long as before, spread by chance so that two who met do not
  // meet again.
  void wait();
  // All waits so far.
  std::chrono::milliseconds waited() const noexcept { return waited_; }

 private:
  Random& random_;
  std::chrono::milliseconds next_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds waited_{0};
};

}  // namespace semel::strategies
