// TrackedDelivery: a delivery in flight, with notes of the engine and the strategies about it.
#pragma once

#include <cstdint>

#include <semel/spi/delivery.h>

namespace semel::core {

// Move-only: exactly one outcome belongs to it.
struct TrackedDelivery : Delivery {
  using Delivery::Delivery;

  std::uint64_t number = 0;     // grows with each arrival of the consumer
  std::uint64_t question = 0;   // the question to sources and store that it answers
  std::uint64_t trial = 0;      // the gate's trial that it is; zero: none
  std::uint64_t waits_for = 0;  // with kKeep: what may end the delay sooner; zero: nothing
  bool answered = false;        // its asynchronous call is over, and it is not yet recorded
  bool follows = false;         // it is ordered behind an earlier delivery of its batch
};

}  // namespace semel::core
