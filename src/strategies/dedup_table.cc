// dedup_table: inserts the key under a unique constraint and does the work, in one transaction.
#include <utility>

#include "strategies/claim_policies.h"
#include "strategies/kinds.h"
#include "strategies/pipeline.h"

namespace semel::strategies {

namespace {

class DedupTable final : public Strategy {
 public:
  explicit DedupTable(Context context)
      : context_(std::move(context)), pipeline_(context_, PipelineOptions{}) {}

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

std::unique_ptr<Strategy> make_dedup_table(Context context) {
  return std::make_unique<DedupTable>(std::move(context));
}

}  // namespace semel::strategies
