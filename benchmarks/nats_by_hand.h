// A consumer of a NATS stream as people write it by hand.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace semel::bench {

struct Stream {
  int port = 0;  // of 127.0.0.1, where owner:right may do anything
  std::string name;
  std::string durable;  // which is there
  std::size_t messages = 0;
};

// So many are asked for before the first is acknowledged, on every side.
inline constexpr int kAskedFor = 1'000;

// Pulled to its end, each message acknowledged. Messages per second, from the first one on.
double pull_by_hand(const Stream& stream);
// Each given to `handle`, then acknowledged, and the answer waited for.
double pull_naively(const Stream& stream,
                    const std::function<void(const std::string& payload)>& handle);

}  // namespace semel::bench
