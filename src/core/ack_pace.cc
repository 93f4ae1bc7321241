#include "core/ack_pace.h"

#include <algorithm>

namespace semel::core {

namespace {

constexpr std::size_t kAcksAtOnce = 100;
constexpr std::chrono::milliseconds kAcksWait{2};

}  // namespace

AckPace::AckPace(std::size_t prefetch) noexcept
    : AckPace(std::min(kAcksAtOnce, prefetch / 4), kAcksWait) {}

bool AckPace::are_due(std::size_t waiting, Time now) noexcept {
  if (waiting == 0 || are_many(waiting)) {
    due_.reset();
    return waiting > 0;
  }
  if (!due_) due_ = now + wait_;
  if (now < *due_) return false;
  due_.reset();
  return true;
}

}  // namespace semel::core
