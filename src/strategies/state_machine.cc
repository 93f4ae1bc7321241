// state_machine: claimed with a lease, handled, then completed. Any store, any effect.
//
// A transactional handler is an `apply`: its statements commit together with `completed`. So do
// those of a two-part handler's second part, after the first part has made its outside call.
#include <memory>
#include <utility>
#include <variant>

#include "strategies/async_calls.h"
#include "strategies/claim_policies.h"
#include "strategies/finish_collector.h"
#include "strategies/kinds.h"
#include "strategies/pipeline.h"
#include "strategies/rounds.h"
#include "strategies/step_run.h"
#include "strategies/two_phase.h"

namespace semel::strategies {

namespace {

class StateMachine final : public Strategy {
 public:
  explicit StateMachine(Context context)
      : context_(std::move(context)), pipeline_(context_, PipelineOptions{}), async_(context_) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    if (runs_in_rounds(context_) && needs_rounds(batch)) {
      run_rounds(context_, batch, sink);
      return;
    }
    FinishCollector collector(context_, sink);
    Claimed claimed = claim_batch(context_, batch, collector, sink);
    if (std::holds_alternative<TransactionalHandler>(context_.handler)) {
      park_journalled(claimed, collector);
      collector.flush();
      ConfirmClaims policy(context_, claimed.rights);
      pipeline_.run(claimed.deliveries, policy, sink);
    } else if (std::holds_alternative<AsyncHandler>(context_.handler)) {
      collector.flush();
      async_.begin(calls_of(claimed), sink);
    } else {
      run_calls(context_, calls_of(claimed), collector, sink);
    }
  }
  bool takes_followers() const noexcept override { return runs_in_rounds(context_); }

 private:
  // A message that was begun by a handler with steps cannot be continued by a handler without
  // steps.
  void park_journalled(Claimed& claimed, FinishCollector& collector) const {
    Claimed kept;
    for (std::size_t i = 0; i < claimed.deliveries.size(); ++i) {
      const Call call{claimed.deliveries[i], ClaimInfo::of(claimed.rights[i])};
      if (const auto refused = refuse_journalled(context_, call)) {
        collector.add(*call.delivery, ending_of(context_, call, *refused));
        continue;
      }
      kept.deliveries.push_back(claimed.deliveries[i]);
      kept.rights.push_back(claimed.rights[i]);
      kept.asked.push_back(claimed.asked[i]);
    }
    claimed.deliveries.swap(kept.deliveries);
    claimed.rights.swap(kept.rights);
    claimed.asked.swap(kept.asked);
  }

  const Context context_;
  Pipeline pipeline_;
  AsyncCalls async_;
};

}  // namespace

std::unique_ptr<Strategy> make_state_machine(Context context) {
  return std::make_unique<StateMachine>(std::move(context));
}

}  // namespace semel::strategies
