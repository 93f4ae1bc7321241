#include <semel/guard_claim.h>

#include <memory>
#include <stop_token>
#include <utility>

#include "core/verdict_details.h"
#include "guard/guard_impl.h"
#include "strategies/calls.h"
#include "strategies/finish_collector.h"
#include "strategies/two_phase.h"

namespace semel {

namespace {

auto claim_is_over() {
  return failure(guard::rejected("the claim is over", "call Guard::begin for another one"));
}

// The attempt of a claim that was moved from.
const Attempt& stopped_attempt() {
  static const Attempt stopped = [] {
    std::stop_source stop;
    stop.request_stop();
    Attempt attempt;
    attempt.stop = stop.get_token();
    return attempt;
  }();
  return stopped;
}

}  // namespace

class GuardClaim::Impl {
 public:
  Impl(strategies::Context context, core::TrackedDelivery delivery,
       const strategies::ClaimInfo& claim)
      : context_(std::move(context)),
        delivery_(std::move(delivery)),
        call_{&delivery_, claim},
        lease_(*claim.lease),
        watch_(strategies::watch_over(context_, {&call_, 1},
                                      strategies::HandlerMonitor::Handlers::kInTurn)),
        attempt_(strategies::attempt_of(context_, call_)) {
    attempt_.stop = watch_->handler_begins(0);
  }
  ~Impl() {
    if (!watch_) return;
    try {
      Verdict::Retry dropped;
      dropped.reason = "its holder dropped the claim";
      dropped.counted = false;
      dropped.unknown = context_.parks_doubt;
      (void)end(std::move(dropped), false);
    } catch (...) {
      // The lease ends by itself.
    }
  }

  const Attempt& attempt() const noexcept { return attempt_; }

  Result<bool> renew() {
    if (!watch_) return claim_is_over();
    auto applied = context_.store->renew({&lease_, 1}, context_.claim.lease);
    if (!applied) return failure(std::move(applied.error()));
    return applied->front() == Applied::kYes;
  }

  // `patient`: retries while the store is unavailable.
  Result<Outcome> end(Verdict verdict, bool patient) {
    if (!watch_) return claim_is_over();
    const auto watch = std::move(watch_);
    watch->handler_ended(0);
    const auto decision = strategies::decide_answer(context_, attempt_, std::move(verdict));
    guard::Answers sink({&delivery_, 1});
    strategies::FinishCollector collector(context_, sink);
    collector.watch(watch.get());
    collector.add(delivery_, strategies::ending_of(context_, call_, decision), 0);
    if (patient) {
      collector.flush();
    } else {
      collector.flush_or_give_back();
    }
    if (auto error = collector.given_back_for()) {
      error->kind = ErrorKind::kInDoubt;
      error->message = "the end of the claim could not be recorded: " + error->message;
      return failure(*std::move(error));
    }
    Outcome& outcome = sink.outcomes().front();
    if (outcome.kind == Outcome::Kind::kBusy) outcome.reason = reason::kLeaseLost;
    return std::move(outcome);
  }

 private:
  const strategies::Context context_;
  core::TrackedDelivery delivery_;
  const strategies::Call call_;
  const Lease lease_;
  std::unique_ptr<strategies::HandlerMonitor::Watch> watch_;  // null: the claim is over
  Attempt attempt_;
};

GuardClaim::GuardClaim(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
GuardClaim::~GuardClaim() = default;
GuardClaim::GuardClaim(GuardClaim&&) noexcept = default;
GuardClaim& GuardClaim::operator=(GuardClaim&&) noexcept = default;

const Attempt& GuardClaim::attempt() const noexcept {
  return impl_ ? impl_->attempt() : stopped_attempt();
}
Result<bool> GuardClaim::renew() {
  if (!impl_) return claim_is_over();
  return impl_->renew();
}
Result<Outcome> GuardClaim::complete(Bytes result) { return end(done(std::move(result))); }
Result<Outcome> GuardClaim::give_back(std::string reason,
                                      std::optional<std::chrono::milliseconds> after) {
  Verdict verdict = retry(std::move(reason), after);
  core::set_counted(verdict, false);
  return end(std::move(verdict));
}
Result<Outcome> GuardClaim::end(Verdict verdict) {
  if (!impl_) return claim_is_over();
  return impl_->end(std::move(verdict), true);
}

Result<Begun> Guard::Impl::begin(BytesView key, const Fingerprint& fingerprint) {
  if (store_.traits().borrowed) {
    return failure(guard::rejected("a borrowed connection has no leases",
                                   "call begin on a store of your own, or run_once"));
  }
  if (options_.steps) {
    return failure(guard::rejected("a claim has no steps", "use run_once for work with steps"));
  }
  if (auto refused = refuse_key(key)) return Begun{std::nullopt, *std::move(refused)};
  core::TrackedDelivery one(message_of(key, fingerprint), {});
  Bytes secret;
  if (front_) {
    auto lookup = front_->look(std::span<const core::TrackedDelivery>(&one, 1));
    if (lookup.completed.front()) return Begun{std::nullopt, strategies::answered_by_front()};
    secret = std::move(lookup.secret);
  }
  strategies::Context context = leased_context();
  guard::Answers sink({&one, 1});
  strategies::FinishCollector collector(context, sink);
  auto claimed = strategies::claim_batch(context, {&one, 1}, collector, sink);
  if (!claimed.rights.empty()) {
    const auto claim_info =
        strategies::ClaimInfo::of(claimed.rights.front(), claimed.asked.front());
    auto claim = std::make_unique<GuardClaim::Impl>(std::move(context), std::move(one), claim_info);
    return Begun{GuardClaim(std::move(claim)), Outcome{}};
  }
  collector.flush();
  Result<Outcome> answer = std::move(sink.outcomes().front());
  if (claimed.given_back_for) answer = failure(*std::move(claimed.given_back_for));
  if (auto error = collector.given_back_for()) answer = failure(*std::move(error));
  if (front_) tell_window(answer, secret, one.message);
  if (!answer) return failure(std::move(answer.error()));
  return Begun{std::nullopt, *std::move(answer)};
}

}  // namespace semel
