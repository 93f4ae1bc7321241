#include "traces/span_ids.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace semel::traces {

namespace {

// The randomness of a trace's id is in its last bytes (W3C Trace Context, level 2).
constexpr std::size_t kRandomBytes = 7;
constexpr std::uint64_t kRandomValues = std::uint64_t{1} << (kRandomBytes * 8);

// A bijection that spreads a counter over all values (SplitMix64's).
std::uint64_t spread(std::uint64_t n) noexcept {
  n = (n ^ (n >> 30U)) * 0xBF58476D1CE4E5B9U;
  n = (n ^ (n >> 27U)) * 0x94D049BB133111EBU;
  return n ^ (n >> 31U);
}

}  // namespace

SpanId SpanIds::next() noexcept {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;  // odd: all values come
  std::uint64_t id = 0;
  while (id == 0) id = spread(state_.fetch_add(kStep, std::memory_order_relaxed));
  SpanId made;
  for (auto& byte : made) {
    byte = static_cast<std::uint8_t>(id);
    id >>= 8U;
  }
  return made;
}

Sampler::Sampler(double part) noexcept
    : threshold_(static_cast<std::uint64_t>(
          std::llround((1.0 - std::clamp(part, 0.0, 1.0)) * static_cast<double>(kRandomValues)))) {}

bool Sampler::takes(const TraceId& trace) const noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = trace.size() - kRandomBytes; i < trace.size(); ++i) {
    value = value << 8U | trace[i];
  }
  return value >= threshold_;
}

}  // namespace semel::traces
