// Runs messages without a record: for natural, whose operation gives the same result each time, and
// for query, which only looked.
#pragma once

#include <span>

#include <semel/spi/delivery.h>
#include "strategies/strategy.h"

#include "strategies/async_calls.h"
#include "strategies/pipeline.h"
#include "strategies/strategies.h"

namespace semel::strategies {

class Recordless {
 public:
  // `context` is borrowed.
  explicit Recordless(const Context& context)
      : context_(context), pipeline_(context, PipelineOptions{}), async_(context) {}

  // Every delivery of `batch` is handled and ends at `sink`; asynchronous ones later.
  void run(std::span<core::TrackedDelivery* const> batch, OutcomeSink& sink);

 private:
  const Context& context_;
  Pipeline pipeline_;
  AsyncCalls async_;
};

}  // namespace semel::strategies
