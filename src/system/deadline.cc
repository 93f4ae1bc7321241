#include "system/deadline.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

namespace semel::system {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = steady_clock::time_point;

Time end_of(milliseconds limit) noexcept {
  return limit == Deadline::kNever ? Time::max() : steady_clock::now() + limit;
}

// -1: without end, as for poll.
int milliseconds_until(Time end) noexcept {
  if (end == Time::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now()).count();
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kMost));
}

}  // namespace

Deadline::Deadline(milliseconds limit, const Stops& stops, milliseconds after_stop) noexcept
    : stops_(stops), after_stop_(after_stop), end_(end_of(limit)) {}

bool Deadline::wait(int fd, short events, milliseconds at_most) noexcept {
  const Time most = end_of(at_most);
  for (;;) {
    std::array<pollfd, 3> fds = {{{fd, events, 0}, {stops_[0], POLLIN, 0}, {stops_[1], POLLIN, 0}}};
    const int left = milliseconds_until(std::min(end_, most));
    const int ready = ::poll(fds.data(), stopped_ ? 1 : fds.size(), left);
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents != 0) return true;
    if (ready > 0) {
      stopped_ = true;
      end_ = std::min(end_, steady_clock::now() + after_stop_);
    } else if (left == 0) {
      return false;
    }
  }
}

}  // namespace semel::system
