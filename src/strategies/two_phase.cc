#include "strategies/two_phase.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "strategies/age_gate.h"
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
    claimed_.asked.reserve(batch.size());
    messages_.reserve(batch.size());
  }

  Claimed run() {
    while (first_ < batch_.size()) {
      const std::size_t count = std::min(size_, batch_.size() - first_);
      if (auto error = claim_some(batch_.subspan(first_, count))) {
        after(*std::move(error), count);
      } else {
        first_ += count;
      }
    }
    return std::move(claimed_);
  }

 private:
  std::optional<Error> claim_some(std::span<core::TrackedDelivery> some) {
    open_.clear();
    for (core::TrackedDelivery& delivery : some) {
      if (!refused_for_age_.contains(&delivery)) open_.push_back(&delivery);
    }
    if (auto error = pass_age_gate()) return error;
    if (open_.empty()) return std::nullopt;
    messages_.clear();
    for (const core::TrackedDelivery* delivery : open_) messages_.push_back(&delivery->message);
    WriterShare::Call call(context_.writer_share.get());
    asked_ = context_.environment->clock->elapsed();
    auto claims = context_.store->claim(messages_, context_.claim);
    sink_.waited(call.end());
    if (!claims) return std::move(claims.error());
    for (std::size_t i = 0; i < open_.size(); ++i) take(*open_[i], (*claims)[i]);
    return std::nullopt;
  }

  std::optional<Error> pass_age_gate() {
    gate_time_.reset();
    if (!context_.age_gate || !context_.age_gate->judges()) return std::nullopt;
    std::optional<AgeGate::TimePoint> oldest;
    for (const auto* delivery : open_) AgeGate::find_oldest(delivery->arrival, oldest);
    const auto now = context_.age_gate->time_for(oldest);
    if (!now) return now.error();
    gate_time_ = *now;
    if (!gate_time_) return std::nullopt;
    refuse_at_once(context_, open_, *gate_time_,
                   [&](core::TrackedDelivery& delivery, Resolution resolution) {
                     refused_for_age_.insert(&delivery);
                     refused_(delivery, std::move(resolution));
                   });
    std::erase_if(open_, [&](auto* delivery) { return refused_for_age_.contains(delivery); });
    return std::nullopt;
  }

  void take(core::TrackedDelivery& delivery, Claim& claim) {
    const Resolver resolver(context_, false);
    const auto* const acquired = std::get_if<Acquired>(&claim);
    if (acquired == nullptr) {
      refused_(delivery, resolver.of_claim(claim, delivery));
    } else if (const auto too_old = refused_at(delivery, *acquired)) {
      refused_(delivery, resolver.of_decision(ClaimInfo::of(*acquired), *too_old, delivery));
    } else if (context_.parks_doubt && acquired->taken_over) {
      refused_(delivery, resolver.of_dark_try(ClaimInfo::of(*acquired), delivery));
    } else if (acquired->lease_ended && may_become_suspect(delivery)) {
      delivery.arrival.suspect = true;
      refused_(delivery, {kept_by_engine(), not_started(acquired->lease)});
    } else {
      claimed_.deliveries.push_back(&delivery);
      claimed_.rights.push_back(*acquired);
      claimed_.asked.push_back(asked_);
    }
  }

  // The earlier holder may have died of the message, which its source does not tell: the engine
  // counts it before it runs. Guard keeps nothing.
  bool may_become_suspect(const core::TrackedDelivery& delivery) const {
    return !delivery.arrival.suspect && context_.services.recaller != nullptr &&
           context_.store->facets().runs != nullptr;
  }

  std::optional<Decision> refused_at(const core::TrackedDelivery& delivery,
                                     const Acquired& acquired) const {
    if (!gate_time_) return std::nullopt;
    return context_.age_gate->refuse(delivery.arrival, acquired, *gate_time_);
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
    for (core::TrackedDelivery& delivery : batch_.subspan(first_, give_back)) {
      if (refused_for_age_.contains(&delivery)) continue;
      refused_(delivery, {store_away(error), std::nullopt});
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
  // The current claim: deliveries that did not end at the age gate, and their messages.
  std::vector<core::TrackedDelivery*> open_;
  std::vector<const Message*> messages_;
  std::chrono::nanoseconds asked_{0};
  std::optional<StoreTime> gate_time_;                        // nullopt: none of them looks old
  std::set<const core::TrackedDelivery*> refused_for_age_{};  // of all claims
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
    calls.push_back({claimed.deliveries[i], ClaimInfo::of(claimed.rights[i], claimed.asked[i])});
  }
  return calls;
}

}  // namespace semel::strategies
