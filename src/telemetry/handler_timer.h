// handler_timer: measures how long each call of a handler takes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <semel/handler.h>

#include "telemetry/buckets.h"

namespace semel::telemetry {

// Upper bounds in microseconds.
inline constexpr std::array<std::int64_t, 14> kHandlerBounds{
    1'000,   5'000,     10'000,    25'000,    50'000,     100'000,    250'000,
    500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 60'000'000, 300'000'000};

// Thread-safe.
class HandlerDurations {
 public:
  // A call that threw, or dropped its completion, has failed; so has one whose transaction was
  // undone while it ran.
  static constexpr std::array<const char*, 5> kOutcomes{"done", "retry", "dead", "discard",
                                                        "failed"};
  static constexpr std::size_t kFailed = kOutcomes.size() - 1;
  using CallBuckets = Buckets<kHandlerBounds>;

  void observe(std::size_t outcome, std::chrono::steady_clock::duration took) noexcept {
    calls_[outcome].observe(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  }
  const CallBuckets& calls(std::size_t outcome) const noexcept { return calls_[outcome]; }

 private:
  std::array<CallBuckets, kOutcomes.size()> calls_;
};

// The same handler with each call measured: an asynchronous one until its answer, a batch once for
// each of its messages. A completion that is kept keeps `durations` alive too.
Handler timed(Handler handler, const std::shared_ptr<HandlerDurations>& durations);

}  // namespace semel::telemetry
