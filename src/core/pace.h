// Pace: how many messages of a consumer are handled at a time, and for how long.
#pragma once

#include <chrono>
#include <cstddef>

namespace semel::core {

struct Pace {
  std::size_t batch_max = 100;                 // messages in one transaction
  std::chrono::milliseconds batch_target{20};  // batches shrink when a transaction takes longer
  std::size_t max_in_flight = 1000;            // messages received and not settled
  std::size_t max_in_flight_bytes = 32 << 20;  // bytes of their payloads
  std::size_t max_held = 10'000;               // the most deferred rows in the store; 0: no limit
};

// Batches of a consumer handled at a time, unless its store allows a single writer.
inline constexpr int kUsualWorkers = 8;
inline constexpr std::chrono::milliseconds kUsualTimeout{30'000};       // for one call of a handler
inline constexpr std::chrono::milliseconds kUsualGrace{10'000};         // past that timeout
inline constexpr std::chrono::milliseconds kUsualDrainTimeout{30'000};  // for what is in flight

}  // namespace semel::core
