#include "engine/batch_size.h"

#include <algorithm>

namespace semel::engine {

void BatchSize::ran(std::size_t messages, std::chrono::nanoseconds took) noexcept {
  learn(messages, took);
  if (took > std::max(target_, 2 * floor_)) {
    limit_ = std::max<std::size_t>(1, std::min(limit_, messages) / 2);
  } else if (messages >= limit_ && (took * 2 < target_ || took * 2 < floor_ * 3)) {
    limit_ = std::min(max_, limit_ + std::max<std::size_t>(1, limit_ / 2));
  }
}

void BatchSize::learn(std::size_t messages, std::chrono::nanoseconds took) noexcept {
  const bool known = floor_.count() != 0;
  if (messages == 1) {
    floor_ = known ? std::min(took, floor_ + floor_ / 8) : took;
  } else if (took * 4 < floor_ * 3) {
    floor_ = {};  // the server is faster now; a large batch cannot show by how much
  }
}

}  // namespace semel::engine
