// Life: a simulated process, as its parts see it.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::testkit {

// Thrown through a handler when its process has ended. Not a std::exception: a handler that catches
// those must not survive it.
struct Ended {};

class Life {
 public:
  virtual ~Life() = default;
  // Passes a named point: the process may end there, or be paused. False: it has ended, now or
  // before, and nothing may happen after it.
  virtual bool pass(std::string_view point) = 0;
  virtual bool over() const noexcept = 0;
  // A transaction is open: no other process can write, so a pause would change nothing.
  virtual void unit_opened() noexcept = 0;
  virtual void unit_closed() noexcept = 0;
};

// The store's error for an ended process. A strategy does not wait after a refusal.
inline Error ended_error() {
  return {ErrorKind::kRejected, {}, "the simulated process has ended", {}};
}

}  // namespace semel::testkit
