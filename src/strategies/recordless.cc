#include "strategies/recordless.h"

#include <utility>
#include <variant>
#include <vector>

#include "strategies/calls.h"
#include "strategies/entries.h"

namespace semel::strategies {

void Recordless::run(std::span<core::TrackedDelivery* const> batch, EndingSink& sink) {
  if (std::holds_alternative<TransactionalHandler>(context_.handler)) {
    RecordlessEntry entry(batch);
    pipeline_.run(batch, entry, sink);
    return;
  }
  std::vector<Call> calls;
  calls.reserve(batch.size());
  for (core::TrackedDelivery* const delivery : batch) {
    calls.push_back({delivery, Right::without_record(delivery->arrival)});
  }
  if (std::holds_alternative<AsyncHandler>(context_.handler)) {
    async_.begin(std::move(calls), sink);
    return;
  }
  Finisher finisher(context_, sink);
  run_calls(context_, calls, finisher, sink);
}

}  // namespace semel::strategies
