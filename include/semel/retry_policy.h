// RetryPolicy: when a failed message is run again, and when it is given up.
#pragma once

#include <chrono>
#include <optional>

#include <semel/standard.h>

namespace semel {

struct RetryPolicy {
  int attempts = 8;  // in all, the first one included; 0: no limit
  // The delay after the first failure. It doubles with each failure that counts, and grows with the
  // time since the key was first met after one that does not, up to `longest`.
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds longest{300'000};
  double jitter = 0.2;  // each delay is varied at random by up to this fraction, either way
  std::chrono::milliseconds max_elapsed{6 * 3'600'000};  // since the key was first met; 0: no limit
  int crashes = 3;  // crash attempts before a message that kills its process is given up
};

}  // namespace semel
