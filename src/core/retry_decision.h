// What becomes of a failed attempt: another one later, or the dead letters.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <variant>

#include <semel/retry_policy.h>
#include <semel/verdict.h>

namespace semel::core {

struct RetryAfter {
  std::chrono::milliseconds delay;
};
struct GiveUp {
  std::string_view reason;  // attempts.exhausted, elapsed.exhausted
};

// A delay that the handler itself wants is kept; one that the other end asked for stands between
// the policy's own delay and what is left of its time. The policy's delay of a failure that is not
// counted grows with `since_first`, for its attempts do not.
//
// `attempt`: the one that failed, from 1. `random`: 64 uniform bits for the jitter.
std::variant<RetryAfter, GiveUp> decide_retry(const RetryPolicy& policy,
                                              const Verdict::Retry& verdict, int attempt,
                                              std::chrono::milliseconds since_first,
                                              std::uint64_t random);

}  // namespace semel::core
