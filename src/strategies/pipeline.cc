#include "strategies/pipeline.h"

#include "strategies/batch_run.h"

namespace semel::strategies {

Pipeline::Pipeline(const Context& context, PipelineOptions options)
    : context_(context),
      options_(options),
      habits_(context.habits ? context.habits : make_habits(context.consumer)) {}

Ran Pipeline::run(std::span<Delivery* const> batch, Entry& entry, EndingSink& sink) {
  if (batch.empty()) return {};
  return BatchRun(context_, options_, *habits_, entry, batch, sink).run();
}

std::vector<Delivery*> pointers(std::span<Delivery> batch) {
  std::vector<Delivery*> all;
  all.reserve(batch.size());
  for (Delivery& delivery : batch) all.push_back(&delivery);
  return all;
}

}  // namespace semel::strategies
