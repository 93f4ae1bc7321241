// Shared by the suites of front windows.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <semel/redis.h>

#include "tests/support/waiting.h"

namespace semel::conformance {

// For a server that runs together with sanitizers and other tests.
inline constexpr std::chrono::milliseconds kFrontCalm{5'000};

inline RedisFrontOptions at(const std::string& url, const std::string& prefix) {
  RedisFrontOptions options;
  options.url = url;
  options.prefix = prefix;
  options.timeout = kFrontCalm;
  return options;
}

}  // namespace semel::conformance
