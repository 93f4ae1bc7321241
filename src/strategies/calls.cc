#include "strategies/calls.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "core/verdict_details.h"
#include "strategies/claim_policies.h"
#include "strategies/pipeline.h"
#include "strategies/step_run.h"
#include "system/mutex.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

// How long answers wait for a shared transaction while calls are fast.
constexpr milliseconds kApplyAfter{3};

// Passes each outcome to its delivery's own sink.
class Routes final : public OutcomeSink {
 public:
  explicit Routes(std::span<const Made> made) : made_(made) {
    for (const Made& one : made) ++open_[one.sink];
  }
  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const Made& one = made_[(next_ + i) % made_.size()];
      if (one.call.delivery != &delivery) continue;
      next_ = (next_ + i + 1) % made_.size();
      --open_.find(one.sink)->second;
      one.sink->ended(delivery, std::move(outcome));
      return;
    }
  }
  void waits(bool now) noexcept override {
    for (const auto& [sink, open] : open_) {
      if (open > 0) sink->waits(now);
    }
  }

 private:
  const std::span<const Made> made_;
  std::size_t next_ = 0;  // deliveries end roughly in this order
  // For each sink, the deliveries that have not ended. A sink whose batch has ended may be gone.
  std::map<OutcomeSink*, std::size_t> open_;
};

}  // namespace

std::unique_ptr<HandlerMonitor::Watch> watch_over(const Context& context,
                                                  std::span<const Call> calls,
                                                  HandlerMonitor::Handlers handlers) {
  if (context.services.monitor == nullptr || calls.empty()) return nullptr;
  std::vector<Lease> leases;
  std::vector<std::chrono::nanoseconds> asked;
  leases.reserve(calls.size());
  asked.reserve(calls.size());
  for (const Call& call : calls) {
    if (!call.claim_info.lease) continue;
    leases.push_back(*call.claim_info.lease);
    asked.push_back(call.claim_info.asked);
  }
  return context.services.monitor->watch(leases, handlers, calls.size(), asked);
}

Attempt attempt_of(const Context& context, const Call& call) {
  Attempt attempt;
  attempt.number = call.claim_info.attempt;
  attempt.taken_over = call.claim_info.taken_over;
  attempt.since_first = call.claim_info.since_first;
  attempt.position = call.delivery->arrival.position;
  if (call.claim_info.lease) attempt.token = call.claim_info.lease->token;
  attempt.gate = context.services.gate;
  return attempt;
}

Resolution ending_of(const Context& context, const Call& call, const Decision& decision) {
  Resolution resolution =
      Resolver(context, false).of_decision(call.claim_info, decision, *call.delivery);
  const bool completes = resolution.finish && resolution.finish->to == Finish::To::kCompleted;
  if (call.row_later && call.claim_info.lease && completes) {
    resolution.finish->ack.reset();
    resolution.outcome.settle = Outcome::Settle::kAck;
  }
  // Without a record it is pointless to delete the row in a commit of its own.
  if (!call.claim_info.lease && completes && resolution.finish->outgoing.empty()) {
    resolution.finish.reset();
    resolution.outcome.settle = Outcome::Settle::kAck;
  }
  return resolution;
}

Resolution not_started(const Call& call) {
  Resolution resolution;
  resolution.outcome.kind = Outcome::Kind::kBusy;
  resolution.outcome.settle = Outcome::Settle::kRelease;
  if (call.claim_info.lease) resolution.finish = not_started(*call.claim_info.lease);
  return resolution;
}

void apply_all(const Context& context, std::span<const Made> made) {
  if (made.empty()) return;
  std::vector<core::TrackedDelivery*> deliveries;
  std::vector<Acquired> rights;
  std::unordered_map<const Message*, const Made*> calls;
  for (const Made& one : made) {
    deliveries.push_back(one.call.delivery);
    const ClaimInfo& claim_info = one.call.claim_info;
    rights.push_back({.lease = *claim_info.lease,
                      .attempt = claim_info.attempt,
                      .taken_over = claim_info.taken_over,
                      .since_first = claim_info.since_first,
                      .had_record = claim_info.had_record});
    calls.emplace(&one.call.delivery->message, &one);
  }
  Context second = context;
  second.called = true;
  second.handler = TransactionalHandler([&](const Message& message, Transaction& transaction) {
    const Made& call = *calls.at(&message);
    Verdict verdict = context.apply(message, call.answer, transaction);
    // Duplicates get the call's answer, unless the second part returned a result of its own.
    core::change_details<Verdict::Done>(verdict, [&](Verdict::Done& done) {
      if (done.result.empty()) done.result = call.answer;
      std::ranges::copy(call.publications, std::back_inserter(done.publications));
    });
    return verdict;
  });
  ConfirmClaims policy(second, rights, true);
  Routes routes(made);
  PipelineOptions options;
  options.second_part = true;
  Pipeline(second, options).run(deliveries, policy, routes);
}

// A batch's calls in progress. Passes each call on when it has ended.
class CallRun::Running {
 public:
  Running(const Context& context, std::span<const Call> calls, FinishCollector& collector,
          OutcomeSink& sink, HandlerMonitor::Watch* watch)
      : context_(context),
        calls_(calls),
        collector_(collector),
        sink_(sink),
        watch_(watch),
        applied_at_(context.environment->clock->now()) {}

  // nullopt if the call may not begin: then the message is given back.
  std::optional<Attempt> begin(std::size_t i) {
    Attempt attempt = attempt_of(context_, calls_[i]);
    if (watch_ != nullptr) attempt.stop = watch_->handler_begins(i);
    if (!attempt.stop.stop_requested()) return attempt;
    watch_->handler_ended(i);
    collector_.add(*calls_[i].delivery, not_started(calls_[i]), i);
    return std::nullopt;
  }

  void ended(std::size_t i, Decision decision) SEMEL_EXCLUDES(mutex_) {
    if (watch_ != nullptr) watch_->handler_ended(i);
    forgive_if_cancelled(decision, watch_);
    if (context_.apply && decision.has_effect()) {
      const system::MutexLock lock(mutex_);
      made_.push_back(
          {calls_[i], std::move(decision.result), std::move(decision.publications), &sink_});
      numbers_.push_back(i);
    } else {
      collector_.add(*calls_[i].delivery, ending_of(context_, calls_[i], decision), i);
    }
  }

  void flush_if_due() SEMEL_EXCLUDES(mutex_) {
    collector_.flush_if_due();
    apply_if_due();
  }
  // Does the same on the monitor's thread while a handler runs, because a slow handler must not
  // delay other outcomes. The monitor's thread renews all leases and watches for handlers that
  // hang, so second parts, which may hang themselves, run on another thread.
  void flush_beside_handler() SEMEL_EXCLUDES(mutex_) {
    collector_.flush_beside_handler();
    Completer* const completer = context_.services.completer;
    if (completer == nullptr || !context_.apply) return;
    {
      const system::MutexLock lock(mutex_);
      if (!due() || std::exchange(posted_, true)) return;
    }
    completer->post([handle = handle_] { handle->apply_if_due(); });
  }
  // Returns once all calls have been reported, by whichever thread.
  void apply() SEMEL_EXCLUDES(mutex_) {
    std::vector<Made> made;
    {
      const system::MutexLock lock(mutex_);
      applied_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return !applying_; });
      made = take();
    }
    apply_taken(made);
  }
  // After this, no other thread uses this object.
  void detach() noexcept { handle_->detach(); }

 private:
  // Posted work may run after this object is gone. The handle is locked while work runs: detach()
  // waits.
  class Handle {
   public:
    explicit Handle(Running& running) : running_(&running) {}
    void apply_if_due() SEMEL_EXCLUDES(mutex_) {
      const system::MutexLock lock(mutex_);
      if (running_ != nullptr) running_->apply_posted();
    }
    void detach() noexcept SEMEL_EXCLUDES(mutex_) {
      const system::MutexLock lock(mutex_);
      running_ = nullptr;
    }

   private:
    system::Mutex mutex_;
    Running* running_ SEMEL_GUARDED_BY(mutex_);
  };

  bool due() const SEMEL_REQUIRES(mutex_) {
    return !made_.empty() && !applying_ &&
           context_.environment->clock->now() - applied_at_ >= kApplyAfter;
  }
  void apply_if_due() SEMEL_EXCLUDES(mutex_) {
    if (!context_.apply) return;
    std::vector<Made> made;
    {
      const system::MutexLock lock(mutex_);
      if (!due()) return;
      made = take();
    }
    apply_taken(made);
  }
  void apply_posted() SEMEL_EXCLUDES(mutex_) {
    {
      const system::MutexLock lock(mutex_);
      posted_ = false;
    }
    apply_if_due();
  }
  // One thread takes some calls at a time; the handlers continue meanwhile.
  std::vector<Made> take() SEMEL_REQUIRES(mutex_) {
    // The transaction watches the leases of the messages it completes.
    for (const std::size_t i : numbers_) {
      if (watch_ != nullptr) watch_->finished(i);
    }
    numbers_.clear();
    applying_ = !made_.empty();
    return std::exchange(made_, {});
  }
  void apply_taken(const std::vector<Made>& made) SEMEL_EXCLUDES(mutex_) {
    if (made.empty()) return;
    apply_all(context_, made);
    {
      const system::MutexLock lock(mutex_);
      applying_ = false;
      applied_at_ = context_.environment->clock->now();
    }
    applied_.notify_all();
  }

  const Context& context_;
  const std::span<const Call> calls_;
  FinishCollector& collector_;
  OutcomeSink& sink_;
  HandlerMonitor::Watch* const watch_;
  const std::shared_ptr<Handle> handle_ = std::make_shared<Handle>(*this);
  system::Mutex mutex_;
  system::CondVar applied_;
  std::vector<Made> made_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::size_t> numbers_ SEMEL_GUARDED_BY(mutex_);  // of the calls in made_
  bool applying_ SEMEL_GUARDED_BY(mutex_) = false;  // a thread has taken some and applies them
  bool posted_ SEMEL_GUARDED_BY(mutex_) = false;    // the completer will run apply_if_due()
  std::chrono::steady_clock::time_point applied_at_ SEMEL_GUARDED_BY(mutex_);
};

CallRun::CallRun(const Context& context, std::span<const Call> calls, FinishCollector& collector,
                 OutcomeSink& sink, HandlerMonitor::Handlers handlers)
    : context_(context),
      calls_(calls),
      collector_(collector),
      watch_(watch_over(context, calls, handlers)) {
  running_ = std::make_unique<Running>(context, calls, collector, sink, watch_.get());
  if (!watch_) return;
  collector.watch(watch_.get());
  watch_->on_tick([this] { running_->flush_beside_handler(); });
}

CallRun::~CallRun() {
  running_->detach();
  collector_.watch(nullptr);
}

void CallRun::run(std::span<const std::size_t> which) {
  collector_.handlers_begin();
  if (std::holds_alternative<BatchHandler>(context_.handler)) {
    run_at_once(which);
  } else {
    run_in_turn(which);
  }
  collector_.flush();
  running_->apply();
}

void CallRun::run_in_turn(std::span<const std::size_t> which) {
  for (const std::size_t i : which) {
    const auto attempt = running_->begin(i);
    if (!attempt) continue;
    running_->ended(i, decision_of(i, *attempt));
    running_->flush_if_due();
  }
}

// A step may end the call as one that failed before its own effect. Where no try is repeated that
// has had one, nobody knows what was done before that step, so there are none.
Decision CallRun::decision_of(std::size_t i, const Attempt& attempt) {
  StepStore* const journal = journal_of(context_, calls_[i].claim_info);
  if (journal != nullptr && !context_.parks_doubt) {
    return StepRun(context_, *journal, calls_[i], watch_.get(), i).run(attempt);
  }
  if (auto refused = refuse_journalled(context_, calls_[i])) return *std::move(refused);
  return call_handler(context_, calls_[i].delivery->message, attempt);
}

void CallRun::run_at_once(std::span<const std::size_t> which) {
  std::vector<std::size_t> begun;
  std::vector<const Message*> messages;
  std::vector<Attempt> attempts;
  for (const std::size_t i : which) {
    auto attempt = running_->begin(i);
    if (!attempt) continue;
    auto refused = refuse_unkept(calls_[i].delivery->message);
    if (!refused) refused = refuse_journalled(context_, calls_[i]);
    if (refused) {
      running_->ended(i, *std::move(refused));
      continue;
    }
    begun.push_back(i);
    messages.push_back(&calls_[i].delivery->message);
    attempts.push_back(*std::move(attempt));
  }
  if (begun.empty()) return;
  std::vector<Decision> decisions = call_batch_handler(context_, messages, attempts);
  for (std::size_t k = 0; k < begun.size(); ++k) running_->ended(begun[k], std::move(decisions[k]));
}

void run_calls(const Context& context, std::span<const Call> calls, FinishCollector& collector,
               OutcomeSink& sink) {
  const bool at_once = std::holds_alternative<BatchHandler>(context.handler);
  CallRun run(context, calls, collector, sink,
              at_once ? HandlerMonitor::Handlers::kTogether : HandlerMonitor::Handlers::kInTurn);
  std::vector<std::size_t> all(calls.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  run.run(all);
}

}  // namespace semel::strategies
