#include "core/ack_tracker.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace semel::core {

void AckTracker::received(std::uint64_t position) {
  const bool grows =
      entries_.empty() ? !prefix_ || position > *prefix_ : position > entries_.back().position;
  if (!grows) {
    // Ignoring this silently would commit messages that were never settled.
    std::fputs("semel: a source counted its positions backwards\n", stderr);
    std::abort();
  }
  entries_.push_back({position, false});
  ++open_;
}

std::optional<std::size_t> AckTracker::place_of(std::uint64_t position) const noexcept {
  if (entries_.empty() || position < entries_.front().position) return std::nullopt;
  // Usually no position is missing, and this guess is right.
  const std::uint64_t guess = position - entries_.front().position;
  auto found = entries_.begin();
  if (guess < entries_.size() && entries_[guess].position == position) {
    found += static_cast<std::ptrdiff_t>(guess);
  } else {
    found =
        std::lower_bound(entries_.begin(), entries_.end(), position,
                         [](const Entry& entry, std::uint64_t p) { return entry.position < p; });
  }
  if (found == entries_.end() || found->position != position || found->settled) return std::nullopt;
  return static_cast<std::size_t>(found - entries_.begin());
}

bool AckTracker::settled(std::uint64_t position) {
  const auto place = place_of(position);
  if (!place) return false;
  entries_[*place].settled = true;
  --open_;
  while (!entries_.empty() && entries_.front().settled) {
    prefix_ = entries_.front().position;
    entries_.pop_front();
  }
  return true;
}

}  // namespace semel::core
