// query: look whether the effect is there, then make it. Wrong as soon as two look at a time: kept
// because people start there.
#include <utility>
#include <vector>

#include "strategies/endings.h"
#include "strategies/kinds.h"
#include "strategies/recordless.h"

namespace semel::strategies {

namespace {

class Query final : public Strategy {
 public:
  explicit Query(Context context) : context_(std::move(context)), recordless_(context_) {}

  void process(std::span<Delivery> batch, EndingSink& sink) noexcept override {
    std::vector<Delivery*> absent;
    absent.reserve(batch.size());
    for (Delivery& delivery : batch) {
      const Result<bool> there = look(delivery.message);
      if (!there) {
        sink.ended(delivery, store_away(there.error()));
      } else if (*there) {
        Outcome outcome;
        outcome.kind = Outcome::Kind::kDuplicate;
        sink.ended(delivery, std::move(outcome));
      } else {
        absent.push_back(&delivery);
      }
    }
    recordless_.run(absent, sink);
  }

 private:
  Result<bool> look(const Message& message) const noexcept {
    if (!context_.already_done) return false;
    try {
      return context_.already_done(message);
    } catch (...) {
      // A message that cannot be asked about is one its handler will refuse, with a reason.
      return false;
    }
  }

  const Context context_;
  Recordless recordless_;
};

}  // namespace

std::unique_ptr<Strategy> make_query(Context context) {
  return std::make_unique<Query>(std::move(context));
}

}  // namespace semel::strategies
