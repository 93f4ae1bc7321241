// LostTakes: takes that the server may have done, or may do yet, although their answers were lost.
//
// Nobody has their rows in hand, so these must show again, and what is behind them in their lines
// must wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <semel/bytes.h>
#include <semel/environment.h>
#include <semel/key.h>

#include "system/mutex.h"

namespace semel::redis {

// Thread-safe.
class LostTakes {
 public:
  explicit LostTakes(Clock& clock) : clock_(clock) {}

  void add(ConsumerNumber consumer, Bytes take) SEMEL_EXCLUDES(mutex_);
  // The concatenated names of those whose rows have not been shown yet.
  Bytes hidden(ConsumerNumber consumer) const SEMEL_EXCLUDES(mutex_);
  // From now on `takes` count as shown.
  void shown(ConsumerNumber consumer, BytesView takes) SEMEL_EXCLUDES(mutex_);
  // The concatenated names of all that the server may still do or have done.
  Bytes of(ConsumerNumber consumer) SEMEL_EXCLUDES(mutex_);

 private:
  struct Lost {
    ConsumerNumber consumer{};
    Bytes take;
    std::chrono::nanoseconds since{0};
    bool shown = false;
  };

  Clock& clock_;
  mutable system::Mutex mutex_;
  std::vector<Lost> lost_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis
