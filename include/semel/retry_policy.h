// RetryPolicy: when a failed message is run again, and when it is given up.
#pragma once

#include <chrono>
#include <optional>

#include <semel/standard.h>

namespace semel {

struct RetryPolicy {
  int attempts = 8;  // in all, the first one counted; 0: no limit
  // After the first failure; doubled each time, and where it is not counted grown with the time
  // since the key was first met …
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds longest{300'000};  // … up to this
  double jitter = 0.2;                         // each delay is spread by ± this part of itself
  std::chrono::milliseconds max_elapsed{6 * 3'600'000};  // since the key was first met; 0: no limit
  int crashes = 3;  // crash attempts before a message that kills its process is given up
};

}  // namespace semel
