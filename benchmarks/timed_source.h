// A source whose messages are timed, alone and with a consumer behind it.
#pragma once

#include <cstddef>
#include <memory>

#include <semel/spi/source.h>
#include <semel/spi/store.h>

#include "benchmarks/consumer.h"

namespace semel::bench {

// When the first message came and the last was settled; outlives its source.
struct SourceTimes {
  std::size_t settled = 0;
  double seconds = 0;
  double rate() const { return static_cast<double>(settled) / seconds; }
};
// Passes all on, and times it.
std::unique_ptr<Source> timed(std::unique_ptr<Source> source, SourceTimes& times);

// Both: messages per second, from the first that came to the last of `messages` that was settled.
// Received and settled at once, as an engine does that has nothing to do. Gives up if the source
// brings nothing for long.
double source_alone(std::unique_ptr<Source> source, std::size_t messages);
// Through a consumer, to the source's end.
double through_consumer(Store& store, const ConsumerRun& run, std::unique_ptr<Source> source,
                        std::size_t messages);
// Through engine and strategy `natural`, which keeps nothing.
double through_engine(std::unique_ptr<Source> source, std::size_t messages);

}  // namespace semel::bench
