// Consumers written by hand over a queue.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace semel::bench {

struct Queue {
  int port = 0;  // of 127.0.0.1, where owner:right may do anything
  std::string name;
  std::size_t messages = 0;
};

// So many are brought before the first is acknowledged, on every side.
inline constexpr int kPrefetch = 1'000;

// Consumed to its end, each hundred acknowledged at once. Messages per second, from the first one
// on.
double consume_by_hand(const Queue& queue);
// Each given to `handle`, then acknowledged.
double consume_naively(const Queue& queue,
                       const std::function<void(const std::string& payload)>& handle);

}  // namespace semel::bench
