// Order: which messages come one after the other, and what it means for them that one must wait.
#pragma once

#include <cstddef>
#include <optional>

#include "core/key_recipe.h"

namespace semel::core {

struct Order {
  enum class OnFailure {
    kHoldKey,  // what has its ordering key waits behind it, in the store
    kBlock,    // what has not begun of its partition waits behind it, at the source
    kSkip,     // nothing waits: it is passed by
  };
  std::optional<KeyPart> key;  // the ordering key; where a message has none: its idempotency key
  OnFailure on_failure = OnFailure::kHoldKey;
  std::size_t most_held = 64 << 20;  // payload bytes that wait behind one key
};

// Whether what comes after a message that must wait is kept from passing it.
inline bool keeps_lines(const std::optional<Order>& order) noexcept {
  return order && order->on_failure != Order::OnFailure::kSkip;
}

}  // namespace semel::core
