#include "engine/batch_size.h"

#include <algorithm>

namespace semel::engine {

void BatchSize::ran(std::size_t messages, std::chrono::nanoseconds took) noexcept {
  if (took > target_) {
    limit_ = std::max<std::size_t>(1, std::min(limit_, messages) / 2);
  } else if (messages >= limit_ && took * 2 < target_) {
    limit_ = std::min(max_, limit_ + std::max<std::size_t>(1, limit_ / 2));
  }
}

}  // namespace semel::engine
