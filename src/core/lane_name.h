// LaneName: which queue of the sequencer a message waits in.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <semel/message.h>

namespace semel::core {

// The text is the message's, which outlives it. A message without an ordering key is named by its
// own key, which may be the ordering key of others: it is in no order with those.
struct LaneName {
  BytesView key;
  bool is_ordering_key = false;
  bool operator==(const LaneName&) const = default;

  static LaneName of(const Message& message) {
    return {message.ordering_key(), message.has_ordering_key()};
  }
};

struct HashOfLaneName {
  std::size_t operator()(const LaneName& name) const noexcept {
    return std::hash<std::string_view>{}(name.key) ^ (name.is_ordering_key ? 1U : 0U);
  }
};

}  // namespace semel::core
