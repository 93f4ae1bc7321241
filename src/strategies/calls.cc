#include "strategies/calls.h"

#include <utility>
#include <variant>

namespace semel::strategies {

namespace {

void run_in_turn(const Context& context, std::span<const Call> calls, Finisher& finisher,
                 Keeper::Watch* watch) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    Attempt attempt = attempt_of(context, call);
    if (watch != nullptr) attempt.stop = watch->handler_begins(i);
    if (attempt.stop.stop_requested()) {
      watch->handler_ended(i);
      finisher.add(*call.delivery, not_started(call), i);
      continue;
    }
    Decision decision = call_handler(context, call.delivery->message, attempt);
    if (watch != nullptr) watch->handler_ended(i);
    forgive_if_cancelled(decision, watch);
    finisher.add(*call.delivery, ending_of(context, call, decision), i);
    finisher.flush_if_due();
  }
}

void run_at_once(const Context& context, std::span<const Call> calls, Finisher& finisher,
                 Keeper::Watch* watch) {
  std::vector<std::size_t> begun;
  std::vector<const Message*> messages;
  std::vector<Attempt> attempts;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Attempt attempt = attempt_of(context, calls[i]);
    if (watch != nullptr) attempt.stop = watch->handler_begins(i);
    if (attempt.stop.stop_requested()) {
      watch->handler_ended(i);
      finisher.add(*calls[i].delivery, not_started(calls[i]), i);
      continue;
    }
    begun.push_back(i);
    messages.push_back(&calls[i].delivery->message);
    attempts.push_back(std::move(attempt));
  }
  if (begun.empty()) return;
  std::vector<Decision> decisions = call_batch_handler(context, messages, attempts);
  for (std::size_t k = 0; k < begun.size(); ++k) {
    const std::size_t i = begun[k];
    if (watch != nullptr) watch->handler_ended(i);
    forgive_if_cancelled(decisions[k], watch);
    finisher.add(*calls[i].delivery, ending_of(context, calls[i], decisions[k]), i);
  }
}

}  // namespace

std::unique_ptr<Keeper::Watch> watch_over(const Context& context, std::span<const Call> calls,
                                          Keeper::Handlers handlers) {
  if (context.services.keeper == nullptr || calls.empty()) return nullptr;
  std::vector<Lease> leases;
  leases.reserve(calls.size());
  for (const Call& call : calls) {
    if (call.right.lease) leases.push_back(*call.right.lease);
  }
  return context.services.keeper->watch(leases, handlers, calls.size());
}

Attempt attempt_of(const Context& context, const Call& call) {
  Attempt attempt;
  attempt.number = call.right.attempt;
  attempt.taken_over = call.right.taken_over;
  attempt.since_first = call.right.since_first;
  attempt.position = call.delivery->arrival.position;
  if (call.right.lease) attempt.token = call.right.lease->token;
  attempt.gate = context.services.gate;
  return attempt;
}

Ending ending_of(const Context& context, const Call& call, const Decision& decision) {
  Ending ending = Endings(context, false).of_decision(call.right, decision, *call.delivery);
  // Without a record nothing is gained by deleting the row in a commit of its own.
  if (!call.right.lease && ending.finish && ending.finish->to == Finish::To::kAckOnly) {
    ending.finish.reset();
    ending.outcome.settle = Outcome::Settle::kAck;
  }
  return ending;
}

Ending not_started(const Call& call) {
  Ending ending;
  ending.outcome.kind = Outcome::Kind::kBusy;
  ending.outcome.settle = Outcome::Settle::kRelease;
  if (!call.right.lease) return ending;
  ending.finish.emplace();
  ending.finish->to = Finish::To::kNotStarted;
  ending.finish->lease = call.right.lease;
  return ending;
}

void run_calls(const Context& context, std::span<const Call> calls, Finisher& finisher) {
  const bool at_once = std::holds_alternative<BatchHandler>(context.handler);
  std::unique_ptr<Keeper::Watch> watch =
      watch_over(context, calls, at_once ? Keeper::Handlers::kTogether : Keeper::Handlers::kInTurn);
  if (watch) {
    finisher.watch(watch.get());
    watch->on_tick([&finisher] { finisher.flush_beside_handler(); });
  }
  (at_once ? run_at_once : run_in_turn)(context, calls, finisher, watch.get());
  finisher.flush();
  finisher.watch(nullptr);
}

}  // namespace semel::strategies
