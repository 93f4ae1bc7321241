// UUIDs of version 7 (RFC 9562), each greater than the one before it. Pure: the caller passes the
// time and the random bits.
#pragma once

#include <cstdint>
#include <string>

namespace semel {

// Method 1 of section 6.2 there: a counter of 42 bits in rand_a and the front of rand_b, started at
// random in each new millisecond with its first bit zero; the other 32 bits of rand_b are random
// each time. A clock that stands still or goes back is ignored: the last millisecond continues, and
// when its counter is exhausted, the next one begins early.
class Uuid7Sequence {
 public:
  struct Chance {
    std::uint64_t counter = 0;  // uniform; the counter's start
    std::uint64_t rest = 0;     // uniform
  };
  // `milliseconds`: since 1970, UTC. Returns the canonical text in lower case. Not thread-safe.
  std::string next(std::uint64_t milliseconds, const Chance& chance);

 private:
  std::uint64_t milliseconds_ = 0;
  std::uint64_t counter_ = 0;
  bool begun_ = false;
};

}  // namespace semel
