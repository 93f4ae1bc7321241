#include "core/ack_tracker.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace semel::core {

void AckTracker::received(std::uint64_t position) {
  const bool grows =
      entries_.empty() ? !prefix_ || position > *prefix_ : position > entries_.back().position;
  if (!grows) {
    // Passing over it silently would commit what was never settled.
    std::fputs("semel: a source counted its positions backwards\n", stderr);
    std::abort();
  }
  entries_.push_back({position, false});
  ++open_;
}

bool AckTracker::settled(std::uint64_t position) {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), position,
                       [](const Entry& entry, std::uint64_t p) { return entry.position < p; });
  if (found == entries_.end() || found->position != position || found->settled) return false;
  found->settled = true;
  --open_;
  while (!entries_.empty() && entries_.front().settled) {
    prefix_ = entries_.front().position;
    entries_.pop_front();
  }
  return true;
}

}  // namespace semel::core
