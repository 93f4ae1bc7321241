#include "core/breaker.h"

#include <algorithm>

namespace semel::core {

using std::chrono::milliseconds;

milliseconds Breaker::shut() noexcept {
  length_ = length_.count() == 0 ? options_.first : std::min(length_ + length_, options_.longest);
  news_from_ = next_;
  return length_;
}

std::optional<milliseconds> Breaker::failed(Ticket call) noexcept {
  if (stale(call)) return std::nullopt;
  failures_ = std::min(failures_ + 1, options_.failures);
  if (failures_ < options_.failures) return std::nullopt;
  return shut();
}

std::optional<milliseconds> Breaker::at_fault(Ticket call) noexcept {
  if (stale(call)) return std::nullopt;
  // The next call is a trial: where it fails, in whatever way, the gate is shut again.
  failures_ = options_.failures;
  return shut();
}

milliseconds Breaker::asked_to_wait(milliseconds wait) noexcept {
  news_from_ = next_;
  return std::clamp(wait, milliseconds(0), options_.longest);
}

bool Breaker::answered(Ticket call) noexcept {
  if (stale(call)) return false;
  failures_ = 0;
  length_ = milliseconds(0);
  return true;
}

}  // namespace semel::core
