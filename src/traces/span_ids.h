// Ids of spans, and the sampling of traces.
#pragma once

#include <atomic>
#include <cstdint>

#include <semel/environment.h>
#include <semel/trace.h>

namespace semel::traces {

// Ids are unique in a process, and random across processes. Thread-safe.
class SpanIds {
 public:
  explicit SpanIds(Random& random) noexcept : state_(random.next()) {}
  SpanId next() noexcept;

 private:
  std::atomic<std::uint64_t> state_;
};

// Decides by a trace's id only, like OpenTelemetry's consistent sampling: the same trace and
// fraction always give the same answer.
class Sampler {
 public:
  // `part`: the fraction of all traces that is sampled, from 0 to 1.
  explicit Sampler(double part) noexcept;
  bool takes(const TraceId& trace) const noexcept;

 private:
  std::uint64_t threshold_;
};

}  // namespace semel::traces
