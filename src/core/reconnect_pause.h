// How long a client waits before it tries to connect again. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace semel::core {

// Grows with `times`, from `first` up to `longest`, and is randomised, so that clients that lost
// the same server do not return together.
inline std::chrono::milliseconds grown_pause(std::size_t times, std::chrono::milliseconds first,
                                             std::chrono::milliseconds longest,
                                             std::uint64_t random) noexcept {
  using std::chrono::milliseconds;
  constexpr std::size_t kDoublings = 8;
  const milliseconds grown = first * (1U << std::min(times, kDoublings));
  const milliseconds half = std::min(longest, grown) / 2;
  return half + milliseconds(random % static_cast<std::uint64_t>(half.count() + 1));
}

// After `tries` failed attempts at a cluster of `nodes`: zero until each node was tried, then
// longer each round up to a bound, and randomised, so that clients that lost one broker do not
// return together.
inline std::chrono::milliseconds pause_before(std::size_t tries, std::size_t nodes,
                                              std::uint64_t random) noexcept {
  using std::chrono::milliseconds;
  constexpr milliseconds kFirstPause{100};
  constexpr milliseconds kLongestPause{2'000};
  const std::size_t rounds = tries / nodes;
  if (rounds == 0) return milliseconds(0);
  return grown_pause(rounds, kFirstPause, kLongestPause, random);
}

}  // namespace semel::core
