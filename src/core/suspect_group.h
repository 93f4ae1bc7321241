// Suspect groups: how many messages that were in flight when a process died are handled together,
// according to the number stored for each.
//
// Zero: the message was in flight at no counted death. Negative: in a group at so many deaths,
// which make the next group smaller and blame no message. Positive: alone at so many deaths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace semel::core {

// How many of the first suspects are handled together, and with nothing else. A group of one is
// alone. Zero where there are none.
std::size_t first_group(std::span<const int> kept) noexcept;

// The number to store for a message while it is handled in a group of `size`, and if the process
// dies then. Repeating the call does not change it.
int crashes_in_hand(int kept, std::size_t size) noexcept;

// The message was alone at as many deaths as `limit` allows, and must be given up.
bool to_give_up(int kept, int limit) noexcept;

// How often a broker delivers a message that crashes its process each time, up to the delivery at
// which it is given up: an ordinary one, one in each size of group, the deaths alone, and the last.
// A broker that allows fewer deliveries drops the message first, without a dead letter. A run that
// ends cleanly and a connection that breaks may each cost a delivery too, hence the generous
// figure.
constexpr std::int64_t deliveries_before_given_up(int crashes) noexcept { return crashes + 4; }
constexpr std::int64_t generous_deliveries(int crashes) noexcept {
  return 2 * deliveries_before_given_up(crashes);
}

// A change of the number: to crashes_in_hand before the message is tried; then to zero, or back if
// it was not tried after all.
struct CrashStep {
  int from = 0;
  int to = 0;
};

// The highest number that the step changes; `from` is the lowest. Two processes may handle copies
// of one message: counting requires the number that was read, while the process that ends it also
// takes back what another has added. So deaths may be missed, and none is invented.
int highest_from(const CrashStep& step) noexcept;
// The stored number after the step.
int crashes_after(int kept, const CrashStep& step) noexcept;

}  // namespace semel::core
