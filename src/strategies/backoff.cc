#include "strategies/backoff.h"

#include <algorithm>
#include <thread>

namespace semel::strategies {

void Backoff::wait() {
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(next_.count(), 1));
  const std::chrono::milliseconds now{
      static_cast<std::int64_t>(most / 2 + 1 + random_.next() % most)};
  std::this_thread::sleep_for(now);
  waited_ += now;
  next_ = std::min(next_ * 2, longest_);
}

}  // namespace semel::strategies
