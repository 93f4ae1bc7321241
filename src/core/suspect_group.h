// Suspect groups: how many messages that were in hand when a process died are handled together, by
// what is kept of each.
//
// A number is kept for each message. Zero: it was in hand at no counted death. Negative: at so many
// in a group, which shrink the next group and blame nobody. Positive: at so many alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace semel::core {

// How many of the first are handled together, beside nothing else. A group of one is alone. None
// where there are none.
std::size_t first_group(std::span<const int> kept) noexcept;

// The number kept for a message while it is handled in a group of `size`, and so if the process
// dies. The same however often it is asked.
int crashes_in_hand(int kept, std::size_t size) noexcept;

// It was alone at as many deaths as `limit` allows: it is given up.
bool to_give_up(int kept, int limit) noexcept;

// How often a broker delivers a message that crashes its process each time, up to the delivery at
// which it is given up: an ordinary one, one in each size of group, the deaths alone, and the last.
// A broker that allows fewer is quicker, and then no dead letter says so. A run that ends in good
// order and a connection that breaks may cost a delivery too, hence the generous figure.
constexpr std::int64_t deliveries_before_given_up(int crashes) noexcept { return crashes + 4; }
constexpr std::int64_t generous_deliveries(int crashes) noexcept {
  return 2 * deliveries_before_given_up(crashes);
}

// A change of the number: to crashes_in_hand before the message is tried, then to zero, or back
// where it was not tried after all.
struct CrashStep {
  int from = 0;
  int to = 0;
};

// The highest number that the step changes; `from` is the lowest. Two processes may have copies of
// one message in hand: counting needs what was looked at, but who ends it takes back what another
// has counted upon it. So deaths are missed, and none is invented.
int highest_from(const CrashStep& step) noexcept;
// The number kept after it.
int crashes_after(int kept, const CrashStep& step) noexcept;

}  // namespace semel::core
