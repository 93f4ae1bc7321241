#include "strategies/recordless.h"

#include <utility>
#include <variant>
#include <vector>

#include "strategies/calls.h"
#include "strategies/claim_policies.h"

namespace semel::strategies {

void Recordless::run(std::span<core::TrackedDelivery* const> batch, OutcomeSink& sink) {
  if (std::holds_alternative<TransactionalHandler>(context_.handler)) {
    NoRecords policy(batch);
    pipeline_.run(batch, policy, sink);
    return;
  }
  std::vector<Call> calls;
  calls.reserve(batch.size());
  for (core::TrackedDelivery* const delivery : batch) {
    calls.push_back({delivery, ClaimInfo::without_record(delivery->arrival)});
  }
  if (std::holds_alternative<AsyncHandler>(context_.handler)) {
    async_.begin(std::move(calls), sink);
    return;
  }
  FinishCollector collector(context_, sink);
  run_calls(context_, calls, collector, sink);
}

}  // namespace semel::strategies
