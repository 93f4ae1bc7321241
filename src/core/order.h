// Order: which messages are handled one after the other, and what happens when one must wait.
#pragma once

#include <cstddef>
#include <optional>

#include "core/key_recipe.h"

namespace semel::core {

struct Order {
  enum class OnFailure {
    kHoldKey,  // messages with its ordering key wait behind it, in the store
    kBlock,    // the rest of its partition waits behind it, at the source
    kSkip,     // nothing waits: later messages pass it
  };
  std::optional<KeyPart> key;  // the ordering key; where a message has none: its idempotency key
  OnFailure on_failure = OnFailure::kHoldKey;
  std::size_t most_held = 64 << 20;  // payload bytes that wait behind one key
};

// Whether later messages of a line must not overtake one that waits.
inline bool keeps_lines(const std::optional<Order>& order) noexcept {
  return order && order->on_failure != Order::OnFailure::kSkip;
}

}  // namespace semel::core
