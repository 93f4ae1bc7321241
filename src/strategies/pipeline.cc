#include "strategies/pipeline.h"

#include "strategies/batch_run.h"

namespace semel::strategies {

Pipeline::Pipeline(const Context& context, PipelineOptions options)
    : context_(context),
      options_(options),
      stats_(context.stats ? context.stats : make_pipeline_stats(context.consumer)) {}

PipelineResult Pipeline::run(std::span<core::TrackedDelivery* const> batch, ClaimPolicy& policy,
                             OutcomeSink& sink) {
  if (batch.empty()) return {};
  return BatchRun(context_, options_, *stats_, policy, batch, sink).run();
}

std::vector<core::TrackedDelivery*> pointers(std::span<core::TrackedDelivery> batch) {
  std::vector<core::TrackedDelivery*> all;
  all.reserve(batch.size());
  for (core::TrackedDelivery& delivery : batch) all.push_back(&delivery);
  return all;
}

}  // namespace semel::strategies
