// Ids of spans, and which traces are sampled.
#pragma once

#include <atomic>
#include <cstdint>

#include <semel/environment.h>
#include <semel/trace.h>

namespace semel::traces {

// No id comes twice in a process, and none of two processes meet but by chance. Thread-safe.
class SpanIds {
 public:
  explicit SpanIds(Random& random) noexcept : state_(random.next()) {}
  SpanId next() noexcept;

 private:
  std::atomic<std::uint64_t> state_;
};

// Decides by a trace's id alone, as OpenTelemetry's consistent sampling does: whoever asks about
// the same trace with the same part gets the same answer.
class Sampler {
 public:
  // The part of all traces that is sampled, from 0 to 1.
  explicit Sampler(double part) noexcept;
  bool takes(const TraceId& trace) const noexcept;

 private:
  std::uint64_t threshold_;
};

}  // namespace semel::traces
