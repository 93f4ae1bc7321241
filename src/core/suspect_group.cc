#include "core/suspect_group.h"

#include <algorithm>
#include <limits>

namespace semel::core {
namespace {

// A death costs a restart, so there are few sizes: first all that were in flight, then so few that
// each of them can soon be handled alone.
constexpr std::size_t kFew = 32;
constexpr int kOnceInGroup = -1;
constexpr int kTwiceInGroup = -2;

std::size_t most_beside(int kept) noexcept {
  if (kept == 0) return std::numeric_limits<std::size_t>::max();
  return kept == kOnceInGroup ? kFew : 1;
}

}  // namespace

std::size_t first_group(std::span<const int> kept) noexcept {
  std::size_t size = 0;
  std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const int one : kept) {
    most = std::min(most, most_beside(one));
    if (size >= most) break;
    ++size;
  }
  return size;
}

int crashes_in_hand(int kept, std::size_t size) noexcept {
  if (size == 1) return std::max(kept, 0) + 1;
  return std::max(kept - 1, kTwiceInGroup);
}

bool to_give_up(int kept, int limit) noexcept { return kept >= limit; }

int highest_from(const CrashStep& step) noexcept {
  const bool ends = step.from > 0 && step.to < step.from;
  return ends ? std::numeric_limits<int>::max() : step.from;
}

int crashes_after(int kept, const CrashStep& step) noexcept {
  return kept >= step.from && kept <= highest_from(step) ? step.to : kept;
}

}  // namespace semel::core
