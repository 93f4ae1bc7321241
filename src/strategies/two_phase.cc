#include "strategies/two_phase.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "strategies/backoff.h"
#include "strategies/writer_share.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

constexpr int kMostClaimTries = 5;
constexpr milliseconds kFirstClaimWait{1};
constexpr milliseconds kLongestClaimWait{50};

bool may_pass(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kRetryTransaction ||
         error.kind == ErrorKind::kInDoubt;
}

Resolution kept_as_suspect(const Lease& lease) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kRetry;
  outcome.settle = Outcome::Settle::kKeep;
  return {std::move(outcome), not_started(lease)};
}

class Claiming {
 public:
  Claiming(const Context& context, std::span<core::TrackedDelivery> batch, OutcomeSink& sink,
           const OnRefused& refused)
      : context_(context),
        batch_(batch),
        sink_(sink),
        refused_(refused),
        size_(batch.size()),
        backoff_(*context.environment->random, kFirstClaimWait, kLongestClaimWait) {
    claimed_.deliveries.reserve(batch.size());
    claimed_.rights.reserve(batch.size());
    messages_.reserve(batch.size());
  }

  Claimed run() {
    while (first_ < batch_.size()) {
      const std::size_t count = std::min(size_, batch_.size() - first_);
      messages_.clear();
      for (std::size_t i = 0; i < count; ++i) messages_.push_back(&batch_[first_ + i].message);
      WriterShare::Call call(context_.writer_share.get());
      auto claims = context_.store->claim(messages_, context_.claim);
      sink_.waited(call.end());
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
  void take(core::TrackedDelivery& delivery, Claim& claim) {
    const Resolver resolver(context_, false);
    const auto* const acquired = std::get_if<Acquired>(&claim);
    if (acquired == nullptr) {
      refused_(delivery, resolver.of_claim(claim, delivery));
    } else if (context_.parks_doubt && acquired->taken_over) {
      refused_(delivery, resolver.of_dark_try(ClaimInfo::of(*acquired), delivery));
    } else if (acquired->lease_ended && may_become_suspect(delivery)) {
      delivery.arrival.suspect = true;
      refused_(delivery, kept_as_suspect(acquired->lease));
    } else {
      claimed_.deliveries.push_back(&delivery);
      claimed_.rights.push_back(*acquired);
    }
  }

  // The earlier holder may have died of the message, which its source does not tell: the engine
  // counts it before it runs. Followers are not kept by the engine, and nothing is by Guard.
  bool may_become_suspect(const core::TrackedDelivery& delivery) const {
    return !delivery.arrival.suspect && !delivery.follows &&
           context_.services.recaller != nullptr && context_.store->facets().runs != nullptr;
  }

  void after(Error error, std::size_t count) {
    std::size_t give_back = 0;
    if (may_pass(error)) {
      if (++tries_ < kMostClaimTries) return backoff_.wait();
      give_back = batch_.size() - first_;
    } else if (error.kind == ErrorKind::kBlocked) {
      give_back = batch_.size() - first_;
    } else if (count > 1) {
      // One message may be the cause, or there is no room for all: find out.
      size_ = count / 2;
    } else {
      give_back = 1;
    }
    for (std::size_t i = 0; i < give_back; ++i) {
      refused_(batch_[first_ + i], {store_away(error), std::nullopt});
    }
    first_ += give_back;
    if (give_back > 0) claimed_.given_back_for = std::move(error);
  }

  const Context& context_;
  const std::span<core::TrackedDelivery> batch_;
  OutcomeSink& sink_;
  const OnRefused& refused_;
  std::size_t first_ = 0;
  std::size_t size_;
  int tries_ = 0;
  Backoff backoff_;
  std::vector<const Message*> messages_;
  Claimed claimed_;
};

}  // namespace

Claimed claim_batch(const Context& context, std::span<core::TrackedDelivery> batch,
                    OutcomeSink& sink, const OnRefused& refused) {
  return Claiming(context, batch, sink, refused).run();
}

Claimed claim_batch(const Context& context, std::span<core::TrackedDelivery> batch,
                    FinishCollector& collector, OutcomeSink& sink) {
  const auto refused = [&](core::TrackedDelivery& delivery, Resolution resolution) {
    if (!resolution.finish) return sink.ended(delivery, std::move(resolution.outcome));
    collector.add(delivery, std::move(resolution));
  };
  return claim_batch(context, batch, sink, refused);
}

Context for_one_try(Context context) {
  context.parks_doubt = true;
  context.claim.durability = Durability::kPowerLoss;
  return context;
}

std::vector<Call> calls_of(const Claimed& claimed) {
  std::vector<Call> calls;
  calls.reserve(claimed.deliveries.size());
  for (std::size_t i = 0; i < claimed.deliveries.size(); ++i) {
    calls.push_back({claimed.deliveries[i], ClaimInfo::of(claimed.rights[i])});
  }
  return calls;
}

}  // namespace semel::strategies
