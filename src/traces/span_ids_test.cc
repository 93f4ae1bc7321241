#include "traces/span_ids.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>

#include "tests/support/test_environment.h"

namespace semel::traces {
namespace {

TraceId trace_with_last(std::initializer_list<std::uint8_t> last) {
  TraceId trace{};
  trace.fill(0xAB);
  std::size_t at = trace.size() - last.size();
  for (const std::uint8_t byte : last) trace[at++] = byte;
  return trace;
}

TEST(SpanIds, NoneComesTwiceNorIsZero) {
  test::SeededRandom random(7);
  SpanIds ids(random);
  std::set<SpanId> seen;
  for (int i = 0; i < 100'000; ++i) EXPECT_TRUE(seen.insert(ids.next()).second);
  EXPECT_FALSE(seen.contains(SpanId{}));
}

TEST(SpanIds, AnotherRunHasOthers) {
  test::SeededRandom random(7);
  SpanIds one(random);
  SpanIds other(random);
  std::set<SpanId> seen;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(seen.insert(one.next()).second);
    EXPECT_TRUE(seen.insert(other.next()).second);
  }
}

TEST(Sampler, TakesAllOrNone) {
  const TraceId lowest = trace_with_last({0, 0, 0, 0, 0, 0, 0});
  const TraceId highest = trace_with_last({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF});
  EXPECT_TRUE(Sampler(1).takes(lowest));
  EXPECT_TRUE(Sampler(1).takes(highest));
  EXPECT_FALSE(Sampler(0).takes(lowest));
  EXPECT_FALSE(Sampler(0).takes(highest));
}

// As OpenTelemetry defines it: samples traces whose last 56 bits are at least (1 - part) * 2^56.
TEST(Sampler, DecidesByTheLastSevenBytes) {
  EXPECT_FALSE(Sampler(0.25).takes(trace_with_last({0xBF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})));
  EXPECT_TRUE(Sampler(0.25).takes(trace_with_last({0xC0, 0, 0, 0, 0, 0, 0})));
  EXPECT_TRUE(Sampler(0.5).takes(trace_with_last({0x80, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(Sampler(0.5).takes(trace_with_last({0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})));
}

}  // namespace
}  // namespace semel::traces
