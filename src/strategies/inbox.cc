// inbox: like dedup_table, but also stores the message with its type, times, error and result.
#include <utility>

#include "strategies/claim_policies.h"
#include "strategies/kinds.h"
#include "strategies/pipeline.h"

namespace semel::strategies {

namespace {

class Inbox final : public Strategy {
 public:
  explicit Inbox(Context context)
      : context_(std::move(context)), pipeline_(context_, PipelineOptions{.inbox = true}) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    ClaimFirst policy;
    pipeline_.run(pointers(batch), policy, sink);
  }
  bool takes_followers() const noexcept override { return true; }

 private:
  const Context context_;
  Pipeline pipeline_;
};

}  // namespace

std::unique_ptr<Strategy> make_inbox(Context context) {
  return std::make_unique<Inbox>(std::move(context));
}

}  // namespace semel::strategies
