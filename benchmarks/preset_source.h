// PresetSource: yields payloads from memory, as many at a time as it is told, and counts what came
// back.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <semel/spi/source.h>

namespace semel::bench {

// The result of a run; outlives its source.
struct Tally {
  std::size_t acked = 0;
  std::size_t given_back = 0;
  std::vector<double> latencies;  // seconds from receive to settled; only one at a time
};

// `at_a_time`: a receive yields no more, and none while that many are not settled; 0: no limit.
// `seconds`: the end comes after so long, from the first receive; 0: with the last payload. Either
// way it yields the first of them, as many as the tally counts.
std::unique_ptr<Source> make_preset_source(const std::vector<std::string>& payloads, Tally& tally,
                                           std::size_t at_a_time = 0, double seconds = 0);

}  // namespace semel::bench
