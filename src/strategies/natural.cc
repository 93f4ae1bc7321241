// natural: keeps no record. The operation itself gives the same result each time.
#include <utility>

#include "strategies/kinds.h"
#include "strategies/pipeline.h"
#include "strategies/recordless.h"

namespace semel::strategies {

namespace {

class Natural final : public Strategy {
 public:
  explicit Natural(Context context) : context_(std::move(context)), recordless_(context_) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    recordless_.run(pointers(batch), sink);
  }

 private:
  const Context context_;
  Recordless recordless_;
};

}  // namespace

std::unique_ptr<Strategy> make_natural(Context context) {
  return std::make_unique<Natural>(std::move(context));
}

}  // namespace semel::strategies
