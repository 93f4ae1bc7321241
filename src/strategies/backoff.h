// Backoff: waits between attempts after a conflict, or while the store is unavailable.
#pragma once

#include <chrono>

#include <semel/environment.h>

namespace semel::strategies {

class Backoff {
 public:
  Backoff(Random& random, std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : random_(random), next_(first), longest_(longest) {}

  // Sleeps, each time about twice as long as before, randomised so that two conflicting callers do
  // not collide again.
  void wait();
  // The sum of all waits so far.
  std::chrono::milliseconds waited() const noexcept { return waited_; }

 private:
  Random& random_;
  std::chrono::milliseconds next_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds waited_{0};
};

}  // namespace semel::strategies
