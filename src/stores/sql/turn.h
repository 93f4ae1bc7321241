// Turn: serializes the threads that share one session.
//
// A mutex whose holder may wait for a server: threads that wait for it have a deadline, and are
// interrupted when the process is to stop.
#pragma once

#include "stores/sql/failure.h"
#include "system/deadline.h"
#include "system/thread_annotations.h"

namespace semel::sql {

class SEMEL_CAPABILITY("turn") Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Throws Failure (R250) when the deadline is over.
  void take(system::Deadline deadline) SEMEL_ACQUIRE();
  void give_back() noexcept SEMEL_RELEASE();

 private:
  int free_;  // an eventfd that holds one while the turn is free
};

// Has the turn until the end of the block.
class SEMEL_SCOPED_CAPABILITY [[nodiscard]] TurnLock {
 public:
  TurnLock(Turn& turn, const system::Deadline& deadline) SEMEL_ACQUIRE(turn) : turn_(turn) {
    turn_.take(deadline);
  }
  ~TurnLock() SEMEL_RELEASE() { turn_.give_back(); }
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

 private:
  Turn& turn_;
};

}  // namespace semel::sql
