// Shared rules of sources that read lines: what a line is, and when it is too long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <semel/bytes.h>
#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "base/text_line.h"

namespace semel::sources {

// The part of a line that is too long which goes to the dead letters: enough to recognise it.
inline constexpr std::size_t kExcerpt = 64 << 10;

using text_line::is_blank;
using text_line::without_ending;
using text_line::without_mark;

// Marks `arrival` as one that could not be read whole. `where`: names the line for people.
void refuse_too_long(Arrival& arrival, std::string_view where, std::size_t size,
                     std::size_t max_line);

// The rest of a receive's limits. At most one arrival exceeds the limit of bytes.
class RemainingLimits {
 public:
  explicit RemainingLimits(const ReceiveLimits& limits) noexcept
      : messages_(limits.messages), bytes_(limits.bytes) {}
  bool full() const noexcept { return messages_ == 0 || bytes_ == 0; }
  void take(std::size_t bytes) noexcept {
    --messages_;
    bytes_ -= std::min(bytes_, bytes);
  }

 private:
  std::size_t messages_;
  std::size_t bytes_;
};

}  // namespace semel::sources
