#include "core/age_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/retention.h"

namespace semel::core {

using std::chrono::milliseconds;

std::optional<AgeLimit> age_limit_of(std::optional<milliseconds> ttl, TooOld too_old) noexcept {
  if (!ttl || too_old == TooOld::kHandle) return std::nullopt;
  return AgeLimit{*ttl, *ttl - *ttl / kAgeMarginPart, too_old == TooOld::kDiscard};
}

bool has_age(const Arrival& arrival) noexcept {
  return arrival.broker_time && arrival.attempts == 0;
}

std::string too_old_text(const AgeLimit& limit, milliseconds age) {
  using std::chrono::hours;
  using std::chrono::seconds;
  const milliseconds shown = age >= hours(1) ? milliseconds(std::chrono::floor<hours>(age))
                                             : milliseconds(std::chrono::floor<seconds>(age));
  return fmt::format(
      "it was {} old by its broker's time, and records are kept for {}: whether it "
      "was handled before cannot be known",
      duration_text(std::max(shown, milliseconds(seconds(1)))), duration_text(limit.ttl));
}

}  // namespace semel::core
