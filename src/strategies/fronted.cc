// A strategy behind a front window. A key that the window knows to be completed is a duplicate and
// needs no claim; completed records are put into the window.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <semel/reason.h>

#include "strategies/front.h"

namespace semel::strategies {

namespace {

// Sits between a strategy and the engine's sink. Lives until its last delivery has ended, which may
// be long after the strategy has returned.
class KeepingSink final : public OutcomeSink {
 public:
  static OutcomeSink& over(OutcomeSink& sink, Front& front, Bytes secret, std::size_t open) {
    auto made = std::make_unique<KeepingSink>(sink, front, std::move(secret), open);
    KeepingSink& kept = *made;
    kept.self_ = std::move(made);
    return kept;
  }

  KeepingSink(OutcomeSink& sink, Front& front, Bytes secret, std::size_t open)
      : sink_(sink), front_(front), secret_(std::move(secret)), open_(open) {}

  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    if (outcome.reason == reason::kStoreUnavailable) front_.doubt();
    if (!secret_.empty() && shows_completed(outcome)) front_.keep(secret_, delivery.message);
    sink_.ended(delivery, std::move(outcome));
    if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const auto last = std::move(self_);
  }
  void waits(bool now) noexcept override { sink_.waits(now); }
  void waited(std::optional<std::chrono::nanoseconds> time) noexcept override {
    sink_.waited(time);
  }

 private:
  OutcomeSink& sink_;
  Front& front_;
  const Bytes secret_;
  std::atomic<std::size_t> open_;
  std::unique_ptr<KeepingSink> self_;
};

class Fronted final : public Strategy {
 public:
  Fronted(std::unique_ptr<Strategy> inner, Front& front)
      : inner_(std::move(inner)), front_(front) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    const Front::Lookup lookup = front_.look(std::span<const core::TrackedDelivery>(batch));
    const std::size_t rest = move_back(batch, lookup.completed);
    // The batch may be gone once its last outcome is reported.
    for (std::size_t i = rest; i < batch.size(); ++i) sink.ended(batch[i], answered_by_front());
    if (rest == 0) return;
    inner_->process(batch.first(rest), KeepingSink::over(sink, front_, lookup.secret, rest));
  }
  bool takes_followers() const noexcept override { return inner_->takes_followers(); }

 private:
  // Moves answered deliveries behind the others, whose order does not change. Returns how many
  // others there are.
  static std::size_t move_back(std::span<core::TrackedDelivery> batch,
                               const std::vector<bool>& answered) {
    std::vector<core::TrackedDelivery> aside;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (answered[i]) {
        aside.push_back(std::move(batch[i]));
      } else {
        if (kept != i) batch[kept] = std::move(batch[i]);
        ++kept;
      }
    }
    for (std::size_t i = 0; i < aside.size(); ++i) batch[kept + i] = std::move(aside[i]);
    return kept;
  }

  const std::unique_ptr<Strategy> inner_;
  Front& front_;
};

}  // namespace

bool shows_completed(const Outcome& outcome) noexcept {
  using Kind = Outcome::Kind;
  using Settle = Outcome::Settle;
  const bool had = outcome.kind == Kind::kDone || outcome.kind == Kind::kDuplicate ||
                   outcome.kind == Kind::kDiscarded;
  return had && (outcome.settle == Settle::kAck || outcome.settle == Settle::kAcked);
}

Outcome answered_by_front() {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDuplicate;
  outcome.settle = Outcome::Settle::kAck;
  outcome.reason = reason::kFront;
  return outcome;
}

std::unique_ptr<Strategy> make_fronted(std::unique_ptr<Strategy> inner, Front& front) {
  return std::make_unique<Fronted>(std::move(inner), front);
}

}  // namespace semel::strategies
