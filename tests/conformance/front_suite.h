// What the suites of front windows share.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <semel/redis.h>

namespace semel::conformance {

// Within which what was kept is there, or gone: only what never comes waits so long.
inline constexpr std::chrono::seconds kFrontPatience{20};
// Of a server beside sanitizers and other tests.
inline constexpr std::chrono::milliseconds kFrontCalm{5'000};

inline bool comes(const std::function<bool()>& true_now) {
  const auto until = std::chrono::steady_clock::now() + kFrontPatience;
  while (!true_now()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline RedisFrontOptions at(const std::string& url, const std::string& prefix) {
  RedisFrontOptions options;
  options.url = url;
  options.prefix = prefix;
  options.timeout = kFrontCalm;
  return options;
}

}  // namespace semel::conformance
