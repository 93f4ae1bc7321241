// optimistic_lock: the row's version is compared with the one that the message's change is based
// on, and the handler's write must change it. An older message is a duplicate, a newer one too
// early.
#include <utility>

#include "strategies/kinds.h"
#include "strategies/row_guarded.h"

namespace semel::strategies {

namespace {

class OptimisticLock final : public Strategy {
 public:
  explicit OptimisticLock(Context context) : row_guarded_(std::move(context)) {}

  void process(std::span<Delivery> batch, EndingSink& sink) noexcept override {
    row_guarded_.run(batch, sink);
  }

 private:
  const RowGuarded row_guarded_;
};

}  // namespace

std::unique_ptr<Strategy> make_optimistic_lock(Context context) {
  return std::make_unique<OptimisticLock>(std::move(context));
}

}  // namespace semel::strategies
