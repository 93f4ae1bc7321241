#include "sources/sqs/pauses.h"

#include <algorithm>

#include "core/reconnect_pause.h"

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};
// Several attempts fit into the time that is left when a renewal is due.
constexpr int kShareOfRenewalPause = 10;

}  // namespace

Pauses::Pauses(milliseconds visibility)
    : longest_renewal_pause_(
          std::clamp(visibility / kShareOfRenewalPause, kFirstPause, kLongestPause)) {}

bool Pauses::failed(CallKind kind, TimePoint now, std::uint64_t random) {
  Kind& one = of(kind);
  if (now < one.until) return false;
  const milliseconds longest =
      kind == CallKind::kRenew ? longest_renewal_pause_ : milliseconds(kLongestPause);
  one.until = now + core::grown_pause(++one.failures, kFirstPause, longest, random);
  return true;
}

void Pauses::answered(CallKind kind) { of(kind) = {}; }

void Pauses::put_off(CallKind kind, TimePoint until) {
  of(kind).until = std::max(of(kind).until, until);
}

void Pauses::forget() { kinds_ = {}; }

}  // namespace semel::sqs
