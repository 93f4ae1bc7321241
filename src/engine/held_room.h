// HeldRoom: how many more messages from outside the store may keep for a consumer.
//
// Messages that are stored before they are handled (`defer`, strategy `fence`) are settled at their
// source: nothing there slows them while the handler is slow or its receiver is unavailable. With
// this limit they wait in the broker once the store has enough of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <semel/spi/held_messages.h>

namespace semel::engine {

// Used by the receiving thread only. Other processes that receive for the same consumer count
// separately between two looks at the store: each may store as many more.
class HeldRoom {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `most`: rows of the consumer. `held` null, or `most` 0: no limit.
  HeldRoom(HeldMessages* held, ConsumerNumber consumer, std::size_t most)
      : held_(most == 0 ? nullptr : held), consumer_(consumer), most_(most) {}

  // Messages that may be received now. Looks at the store if none are left, at most once per
  // kLookAgain. An error is the store's; nothing may be received then.
  Result<std::size_t> look(TimePoint now);
  // Subtracts received messages.
  void take(std::size_t messages) noexcept;
  // Whether the store has answered since the last call.
  bool take_heard() noexcept { return std::exchange(heard_, false); }
  // When to look again, where there is no room.
  std::optional<TimePoint> again_at() const noexcept { return again_at_; }

 private:
  HeldMessages* const held_;
  const ConsumerNumber consumer_;
  const std::size_t most_;
  std::size_t left_ = 0;
  bool heard_ = false;
  std::optional<TimePoint> again_at_;
};

}  // namespace semel::engine
