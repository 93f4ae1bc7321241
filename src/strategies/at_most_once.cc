// at_most_once: an effect that may have happened is never tried again; an operator decides how the
// message ends.
//
// A worker claims each message only when it starts it, one at a time. So a crash leaves only the
// message that was begun with an unknown outcome.
#include <memory>
#include <utility>
#include <variant>

#include "strategies/async_calls.h"
#include "strategies/finish_collector.h"
#include "strategies/kinds.h"
#include "strategies/two_phase.h"

namespace semel::strategies {

namespace {

class AtMostOnce final : public Strategy {
 public:
  explicit AtMostOnce(Context context)
      : context_(for_one_try(std::move(context))), async_(context_) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    for (std::size_t i = 0; i < batch.size(); ++i) run_one(batch.subspan(i, 1), sink);
  }

 private:
  void run_one(std::span<core::TrackedDelivery> one, OutcomeSink& sink) {
    FinishCollector collector(context_, sink);
    const Claimed claimed = claim_batch(context_, one, collector, sink);
    if (std::holds_alternative<AsyncHandler>(context_.handler)) {
      async_.begin(calls_of(claimed), sink);
    } else {
      run_calls(context_, calls_of(claimed), collector, sink);
    }
    collector.flush();
  }

  const Context context_;
  AsyncCalls async_;
};

}  // namespace

std::unique_ptr<Strategy> make_at_most_once(Context context) {
  return std::make_unique<AtMostOnce>(std::move(context));
}

}  // namespace semel::strategies
