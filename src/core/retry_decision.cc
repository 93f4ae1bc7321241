#include "core/retry_decision.h"

#include <algorithm>
#include <cmath>

#include <semel/reason.h>

namespace semel::core {
namespace {

using std::chrono::milliseconds;

// Doubled for each earlier failure, up to the longest.
milliseconds backoff(const RetryPolicy& policy, int attempt) noexcept {
  milliseconds delay = std::min(policy.first, policy.longest);
  for (int i = 1; i < attempt && delay.count() > 0 && delay < policy.longest; ++i) {
    delay = delay > policy.longest / 2 ? policy.longest : delay * 2;
  }
  return std::max(delay, milliseconds(0));
}

// A failure that uses up no attempt would be retried at the same pace for as long as it lasts: so
// the delay grows with the time that its message has waited.
constexpr int kPartOfTheWait = 8;

milliseconds own_delay(const RetryPolicy& policy, bool counted, int attempt,
                       milliseconds since_first) noexcept {
  const milliseconds delay = backoff(policy, attempt);
  if (counted) return delay;
  return std::max(delay, std::min(since_first / kPartOfTheWait, policy.longest));
}

milliseconds spread(milliseconds delay, double jitter, std::uint64_t random) noexcept {
  const double part = std::isnan(jitter) ? 0 : std::clamp(jitter, 0.0, 1.0);
  constexpr double kSteps = 0x1p53;
  const double uniform = static_cast<double>(random >> 11) / kSteps;  // from 0, below 1
  const double factor = 1 + part * (2 * uniform - 1);
  constexpr double kMost = 0x1p62;  // the largest, still a number of milliseconds
  return milliseconds(std::llround(std::min(static_cast<double>(delay.count()) * factor, kMost)));
}

}  // namespace

std::variant<RetryAfter, GiveUp> decide_retry(const RetryPolicy& policy,
                                              const Verdict::Retry& verdict, int attempt,
                                              milliseconds since_first, std::uint64_t random) {
  if (verdict.counted && policy.attempts > 0 && attempt >= policy.attempts) {
    return GiveUp{reason::kAttemptsExhausted};
  }
  if (policy.max_elapsed.count() > 0 && since_first >= policy.max_elapsed) {
    return GiveUp{reason::kElapsedExhausted};
  }
  const milliseconds own =
      spread(own_delay(policy, verdict.counted, attempt, since_first), policy.jitter, random);
  if (!verdict.after) return RetryAfter{own};
  const milliseconds wanted = std::max(*verdict.after, milliseconds(0));
  if (!verdict.asked) return RetryAfter{wanted};
  const bool bounded = policy.max_elapsed.count() > 0;
  const milliseconds left = bounded ? policy.max_elapsed - since_first : wanted;
  return RetryAfter{std::max(own, std::min(wanted, left))};
}

}  // namespace semel::core
