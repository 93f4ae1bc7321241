#include "engine/held_room.h"

#include <algorithm>
#include <limits>

namespace semel::engine {

namespace {

// The more rows there are, the more it costs to count them: do not count more often than this.
constexpr std::chrono::milliseconds kLookAgain{500};

}  // namespace

Result<std::size_t> HeldRoom::look(TimePoint now) {
  if (held_ == nullptr) return std::numeric_limits<std::size_t>::max();
  if (left_ > 0) return left_;
  if (again_at_ && now < *again_at_) return std::size_t{0};
  auto depth = held_->depth(consumer_);
  if (!depth) {
    again_at_ = now + kLookAgain;
    return failure(std::move(depth.error()));
  }
  heard_ = true;
  left_ = most_ - std::min(most_, depth->rows);
  again_at_.reset();
  if (left_ == 0) again_at_ = now + kLookAgain;
  return left_;
}

void HeldRoom::take(std::size_t messages) noexcept { left_ -= std::min(left_, messages); }

}  // namespace semel::engine
