#include "sources/sqs/pauses.h"

#include <algorithm>

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};
// Several tries fit into the time that is left when a renewal is due.
constexpr int kShareOfRenewalPause = 10;

// Longer each time, and never the same for all that lost one server.
milliseconds pause_after(std::size_t failures, milliseconds longest, std::uint64_t random) {
  const milliseconds grown = kFirstPause * (1U << std::min<std::size_t>(failures, 8));
  const milliseconds half = std::min(longest, grown) / 2;
  return half + milliseconds(random % static_cast<std::uint64_t>(half.count() + 1));
}

}  // namespace

Pauses::Pauses(milliseconds visibility)
    : longest_renewal_pause_(
          std::clamp(visibility / kShareOfRenewalPause, kFirstPause, kLongestPause)) {}

bool Pauses::failed(CallKind kind, TimePoint now, std::uint64_t random) {
  Kind& one = of(kind);
  if (now < one.until) return false;
  const milliseconds longest =
      kind == CallKind::kRenew ? longest_renewal_pause_ : milliseconds(kLongestPause);
  one.until = now + pause_after(++one.failures, longest, random);
  return true;
}

void Pauses::answered(CallKind kind) { of(kind) = {}; }

void Pauses::forget() { kinds_ = {}; }

}  // namespace semel::sqs
