#include "strategies/two_phase.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "strategies/backoff.h"
#include "strategies/decision.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

constexpr int kMostTries = 5;
constexpr milliseconds kFirstWait{1};
constexpr milliseconds kLongestWait{50};

bool may_pass(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kRetryTransaction ||
         error.kind == ErrorKind::kInDoubt;
}

class Claiming {
 public:
  Claiming(const Context& context, std::span<Delivery> batch, Finisher& finisher, EndingSink& sink)
      : context_(context),
        batch_(batch),
        finisher_(finisher),
        sink_(sink),
        size_(batch.size()),
        backoff_(*context.environment->random, kFirstWait, kLongestWait) {
    claimed_.deliveries.reserve(batch.size());
    claimed_.rights.reserve(batch.size());
    messages_.reserve(batch.size());
  }

  Claimed run() {
    while (first_ < batch_.size()) {
      const std::size_t count = std::min(size_, batch_.size() - first_);
      messages_.clear();
      for (std::size_t i = 0; i < count; ++i) messages_.push_back(&batch_[first_ + i].message);
      auto claims = context_.store->claim(messages_, context_.claim);
      if (claims) {
        for (std::size_t i = 0; i < count; ++i) take(batch_[first_ + i], (*claims)[i]);
        first_ += count;
      } else {
        after(std::move(claims.error()), count);
      }
    }
    return std::move(claimed_);
  }

 private:
  void take(Delivery& delivery, Claim& claim) {
    if (const auto* acquired = std::get_if<Acquired>(&claim)) {
      claimed_.deliveries.push_back(&delivery);
      claimed_.rights.push_back(*acquired);
    } else {
      finisher_.add(delivery, Endings(context_, false).of_claim(claim, delivery));
    }
  }

  void after(Error error, std::size_t count) {
    std::size_t give_back = 0;
    if (may_pass(error)) {
      if (++tries_ < kMostTries) return backoff_.wait();
      give_back = batch_.size() - first_;
    } else if (error.kind == ErrorKind::kBlocked) {
      give_back = batch_.size() - first_;
    } else if (count > 1) {
      // Perhaps for the sake of one message, or for want of room for all: find out.
      size_ = count / 2;
    } else {
      give_back = 1;
    }
    for (std::size_t i = 0; i < give_back; ++i) {
      sink_.ended(batch_[first_ + i], store_away(error));
    }
    first_ += give_back;
    if (give_back > 0) claimed_.given_back_for = std::move(error);
  }

  const Context& context_;
  const std::span<Delivery> batch_;
  Finisher& finisher_;
  EndingSink& sink_;
  std::size_t first_ = 0;
  std::size_t size_;
  int tries_ = 0;
  Backoff backoff_;
  std::vector<const Message*> messages_;
  Claimed claimed_;
};

std::unique_ptr<Keeper::Watch> watch_over(const Context& context, const Claimed& claimed,
                                          Finisher& finisher) {
  if (context.keeper == nullptr || claimed.rights.empty()) return nullptr;
  std::vector<Lease> leases;
  leases.reserve(claimed.rights.size());
  for (const Acquired& right : claimed.rights) leases.push_back(right.lease);
  auto watch = context.keeper->watch(leases, false);
  finisher.watch(watch.get());
  watch->on_tick([&finisher] { finisher.flush_beside_handler(); });
  return watch;
}

// Its lease was lost, or the drain hurries, before it began.
Ending not_started(const Right& right) {
  Ending ending;
  ending.outcome.kind = Outcome::Kind::kBusy;
  ending.outcome.settle = Outcome::Settle::kRelease;
  ending.finish.emplace();
  ending.finish->to = Finish::To::kNotStarted;
  ending.finish->lease = right.lease;
  return ending;
}

Ending run_one(const Context& context, const Right& right, const Delivery& delivery,
               Keeper::Watch* watch, std::size_t number) {
  Attempt attempt;
  attempt.number = right.attempt;
  attempt.taken_over = right.taken_over;
  attempt.token = right.lease->token;
  if (watch != nullptr) attempt.stop = watch->handler_begins(number);
  if (attempt.stop.stop_requested()) {
    watch->handler_ended(number);
    return not_started(right);
  }
  Decision decision = call_handler(context, delivery.message, attempt);
  if (watch != nullptr) watch->handler_ended(number);
  forgive_if_cancelled(decision, watch);
  return Endings(context, false).of_decision(right, decision, delivery);
}

}  // namespace

Claimed claim_batch(const Context& context, std::span<Delivery> batch, Finisher& finisher,
                    EndingSink& sink) {
  return Claiming(context, batch, finisher, sink).run();
}

void run_claimed(const Context& context, const Claimed& claimed, Finisher& finisher) {
  const std::unique_ptr<Keeper::Watch> watch = watch_over(context, claimed, finisher);
  for (std::size_t i = 0; i < claimed.deliveries.size(); ++i) {
    Delivery& delivery = *claimed.deliveries[i];
    const Right right = Right::of(claimed.rights[i]);
    finisher.add(delivery, run_one(context, right, delivery, watch.get(), i), i);
    finisher.flush_if_due();
  }
  finisher.flush();
  finisher.watch(nullptr);
}

}  // namespace semel::strategies
