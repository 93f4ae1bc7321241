// Decides after a failed attempt: another one later, or a dead letter.
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

// A delay that the handler itself wants is kept; a delay that the receiver asked for is at least
// the policy's own delay and at most what is left of max_elapsed. After a failure that is not
// counted, the policy's delay grows with `since_first`, because the number of attempts does not
// grow.
//
// `attempt`: the one that failed, from 1. `random`: 64 uniform bits for the jitter.
std::variant<RetryAfter, GiveUp> decide_retry(const RetryPolicy& policy,
                                              const Verdict::Retry& verdict, int attempt,
                                              std::chrono::milliseconds since_first,
                                              std::uint64_t random);

}  // namespace semel::core
