// RateLimit: how many requests each caller may make. Pure: the caller of it passes the time.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace semel::admin {

// One thread at a time. Callers are few: the holders of tokens.
class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `per_second` in the long run, and up to `burst` together after a quiet time.
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // False: the rate is exceeded. A refused request does not count.
  bool allows(const std::string& caller, Time now);

 private:
  struct Bucket {
    double left = 0;
    Time at;
  };

  const double per_second_;
  const double burst_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace semel::admin
