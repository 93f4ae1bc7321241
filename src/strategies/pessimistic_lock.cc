// pessimistic_lock: the business row is locked, looked at and changed, in the transaction of the
// record. What finds it done is a duplicate, whatever its key.
#include <utility>

#include "strategies/kinds.h"
#include "strategies/row_guarded.h"

namespace semel::strategies {

namespace {

class PessimisticLock final : public Strategy {
 public:
  explicit PessimisticLock(Context context) : row_guarded_(std::move(context)) {}

  void process(std::span<Delivery> batch, EndingSink& sink) noexcept override {
    row_guarded_.run(batch, sink);
  }

 private:
  const RowGuarded row_guarded_;
};

}  // namespace

std::unique_ptr<Strategy> make_pessimistic_lock(Context context) {
  return std::make_unique<PessimisticLock>(std::move(context));
}

}  // namespace semel::strategies
