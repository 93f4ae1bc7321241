#include "strategies/pipeline.h"

#include "strategies/batch_run.h"

namespace semel::strategies {

Pipeline::Pipeline(const Context& context, PipelineOptions options)
    : context_(context),
      options_(options),
      habits_(context.habits ? context.habits : make_habits(context.consumer)) {}

Ran Pipeline::run(std::span<core::TrackedDelivery* const> batch, Entry& entry, EndingSink& sink) {
  if (batch.empty()) return {};
  return BatchRun(context_, options_, *habits_, entry, batch, sink).run();
}

std::vector<core::TrackedDelivery*> pointers(std::span<core::TrackedDelivery> batch) {
  std::vector<core::TrackedDelivery*> all;
  all.reserve(batch.size());
  for (core::TrackedDelivery& delivery : batch) all.push_back(&delivery);
  return all;
}

}  // namespace semel::strategies
