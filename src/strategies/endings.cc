#include "strategies/endings.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <variant>

#include <semel/reason.h>

#include "core/dead_letter_copy.h"
#include "core/retry_decision.h"
#include "core/trace_context.h"
#include "strategies/edited_letter.h"
#include "strategies/step_run.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

// Settles the message: by the commit that removes its row, or by acknowledging it at its source.
void settle(Outcome::Kind kind, const core::TrackedDelivery& delivery, Outcome& outcome) {
  outcome.kind = kind;
  outcome.settle = delivery.arrival.row ? Outcome::Settle::kAcked : Outcome::Settle::kAck;
}

Outcome settled(Outcome::Kind kind, const core::TrackedDelivery& delivery) {
  Outcome outcome;
  settle(kind, delivery, outcome);
  return outcome;
}

Outcome::Kind success_of(const Decision& decision) {
  switch (decision.kind) {
    case Decision::Kind::kDiscarded:
      return Outcome::Kind::kDiscarded;
    case Decision::Kind::kDuplicate:
      return Outcome::Kind::kDuplicate;
    default:
      return Outcome::Kind::kDone;
  }
}

std::optional<Finish> row_only(const core::TrackedDelivery& delivery,
                               Finish::To to = Finish::To::kAckOnly) {
  if (!delivery.arrival.row) return std::nullopt;
  Finish finish;
  finish.to = to;
  finish.ack = delivery.arrival.row;
  return finish;
}

}  // namespace

Finish not_started(const Lease& lease) {
  Finish finish;
  finish.to = Finish::To::kNotStarted;
  finish.lease = lease;
  return finish;
}

bool came_true(Finish::To to, bool held, const Claim& claim) {
  switch (to) {
    case Finish::To::kCompleted:
      return std::holds_alternative<Completed>(claim);
    case Finish::To::kParked:
    case Finish::To::kDead:
      return std::holds_alternative<Closed>(claim);
    case Finish::To::kRetrying:
      if (const auto* acquired = std::get_if<Acquired>(&claim)) return !acquired->taken_over;
      // Another holder gives the same answer; in both cases the source brings the message again.
      if (!held && std::holds_alternative<Busy>(claim)) return true;
      return std::holds_alternative<Waiting>(claim);
    default:
      return false;
  }
}

Outcome store_away(const Error& error, milliseconds delay) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kRetry;
  outcome.settle = Outcome::Settle::kLater;
  outcome.reason = reason::kStoreUnavailable;
  outcome.error = error.message;
  outcome.delay = delay;
  return outcome;
}

Outcome lease_lost(int attempt) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kBusy;
  outcome.settle = Outcome::Settle::kLater;
  outcome.error = "the lease was lost: another holder decides";
  outcome.attempt = attempt;
  outcome.delay = kAskHolderAgain;
  return outcome;
}

void Endings::start(Finish::To to, const Right& right, const core::TrackedDelivery& delivery,
                    Finish& finish) const {
  finish.to = to;
  finish.lease = right.lease;
  finish.attempts = right.attempt;
  finish.ack = delivery.arrival.row;
  finish.arrival = &delivery.arrival;
  finish.inbox = inbox_;
  if (inbox_) finish.keep = &delivery.message;
}

Outcome Endings::not_over(Outcome::Kind kind, const core::TrackedDelivery& delivery) const {
  Outcome outcome = settled(kind, delivery);
  if (!context_.hold) outcome.settle = Outcome::Settle::kLater;
  return outcome;
}

Outcome Endings::for_person(Outcome::Kind kind, const core::TrackedDelivery& delivery) const {
  Outcome outcome = not_over(kind, delivery);
  if (!context_.hold) outcome.delay = kAskPersonAgain;
  return outcome;
}

Ending Endings::of_closed(const Closed& closed, const core::TrackedDelivery& delivery) const {
  Ending ending{settled(Outcome::Kind::kDead, delivery), row_only(delivery)};
  if (closed.parked) ending.outcome = for_person(Outcome::Kind::kParked, delivery);
  if (closed.parked && !closed.held) {
    // If a person lets it run again, this delivery is the one that runs.
    ending.outcome.settle = Outcome::Settle::kLater;
    ending.outcome.delay = kAskPersonAgain;
    ending.finish.reset();
  }
  ending.outcome.reason = closed.reason;
  ending.outcome.closed_before = true;
  return ending;
}

Ending Endings::of_claim(const Claim& claim, const core::TrackedDelivery& delivery,
                         std::string_view unkept) const {
  return std::visit(
      Overload{
          [&](const Acquired&) { return Ending{}; },
          [&](const Completed& completed) {
            Ending ending{settled(Outcome::Kind::kDuplicate, delivery), row_only(delivery)};
            ending.outcome.result = completed.result;
            ending.outcome.completed_at = completed.completed_at;
            return ending;
          },
          [&](const Busy& busy) {
            Ending ending;
            ending.outcome.kind = Outcome::Kind::kBusy;
            ending.outcome.settle = Outcome::Settle::kLater;
            ending.outcome.delay = busy.retry_after;
            return ending;
          },
          [&](const Waiting& waiting) {
            Ending ending{not_over(Outcome::Kind::kRetry, delivery), row_only(delivery)};
            ending.outcome.delay = waiting.next_in;
            return ending;
          },
          [&](const Closed& closed) { return of_closed(closed, delivery); },
          [&](const Conflict& conflict) {
            if (const auto answer = answer_to_original(context_, conflict, delivery.message)) {
              return of_claim(*answer, delivery, unkept);
            }
            Ending ending{for_person(Outcome::Kind::kConflict, delivery), std::nullopt};
            ending.outcome.error = "the key was used before, with another payload";
            if (!unkept.empty()) ending.outcome.error += fmt::format("; {}", unkept);
            if (context_.hold) {
              Finish finish;
              finish.to = Finish::To::kDead;
              finish.reason = reason::kKeyConflict;
              finish.error = ending.outcome.error;
              finish.keep = &delivery.message;
              finish.arrival = &delivery.arrival;
              finish.ack = delivery.arrival.row;
              copy(finish);
              ending.finish = std::move(finish);
            } else {
              ending.outcome.error += ": nothing keeps this message but its source";
            }
            ending.outcome.reason = reason::kKeyConflict;
            return ending;
          },
      },
      claim);
}

Ending Endings::of_decision(const Right& right, const Decision& decision,
                            const core::TrackedDelivery& delivery) const {
  Ending ending;
  if (context_.parks_doubt && decision.in_doubt()) {
    return in_the_dark(right, reason::kOutcomeUnknown,
                       fmt::format("{}: {}", decision.reason, decision.error), delivery);
  }
  switch (decision.kind) {
    case Decision::Kind::kDone:
    case Decision::Kind::kDiscarded:
    case Decision::Kind::kDuplicate:
      ending = of_success(right, decision, delivery);
      break;
    case Decision::Kind::kDead:
      ending = of_death(right, decision, delivery);
      break;
    case Decision::Kind::kLater:
      ending = later(right, decision, delivery);
      break;
    case Decision::Kind::kParked:
      ending = left_to_person(right, decision, delivery);
      break;
    case Decision::Kind::kFailed:
      ending = of_failure(right, decision, delivery);
      break;
  }
  ending.outcome.attempt = right.attempt;
  return ending;
}

void Endings::complete(const Right& right, const Decision& decision,
                       const core::TrackedDelivery& delivery, Outcome& outcome,
                       Finish& finish) const {
  start(Finish::To::kCompleted, right, delivery, finish);
  finish.result = decision.result;
  if (sends(decision)) send(decision, delivery, finish);
  settle(success_of(decision), delivery, outcome);
  outcome.result = decision.result;
  outcome.reason.clear();
  outcome.error = decision.error;
  outcome.attempt = right.attempt;
  outcome.delay = milliseconds{0};
  outcome.completed_at = {};
}

Ending Endings::of_success(const Right& right, const Decision& decision,
                           const core::TrackedDelivery& delivery) const {
  Ending ending;
  if (right.lease) {
    complete(right, decision, delivery, ending.outcome, ending.finish.emplace());
    return ending;
  }
  settle(success_of(decision), delivery, ending.outcome);
  ending.outcome.result = decision.result;
  ending.outcome.error = decision.error;
  // It was handled: a record that an earlier strategy has left must not keep its row.
  ending.finish = row_only(delivery, Finish::To::kCompleted);
  if (!sends(decision)) return ending;
  if (!ending.finish) ending.finish.emplace().to = Finish::To::kCompleted;
  send(decision, delivery, *ending.finish);
  return ending;
}

bool Endings::sends(const Decision& decision) const noexcept {
  return decision.has_effect() && !(decision.publications.empty() && context_.forward_to.empty());
}

// Sends under a key that is the same whenever the message is handled again, so that receivers can
// recognise a repeat.
void Endings::send(const Decision& decision, const core::TrackedDelivery& delivery,
                   Finish& finish) const {
  const Message& message = delivery.message;
  const Bytes key = message.key().text.empty() ? delivery.arrival.position : message.key().text;
  std::map<std::string_view, int> sent;
  for (const Publication& one : decision.publications) {
    Outgoing& outgoing = finish.outgoing.emplace_back();
    outgoing.to = context_.destinations.find(one.destination)->second;
    outgoing.message = one.message;
    core::add_traceparent(outgoing.message.headers, message);
    if (outgoing.message.key) continue;
    const int before = sent[one.destination]++;
    outgoing.message.key = before == 0 ? key : fmt::format("{}/{}", key, before + 1);
  }
  for (const ConsumerNumber to : context_.forward_to) {
    Outgoing& outgoing = finish.outgoing.emplace_back();
    outgoing.to = to;
    outgoing.message.payload = message.payload();
    outgoing.message.headers = core::outgoing_headers(message);
    outgoing.message.content_type = message.content_type();
    outgoing.message.type = message.type();
    outgoing.message.key = key;
  }
}

Ending Endings::of_failure(const Right& right, const Decision& decision,
                           const core::TrackedDelivery& delivery) const {
  Verdict::Retry wanted;
  wanted.after = decision.after;
  wanted.asked = decision.asked;
  wanted.counted = decision.counted;
  // A stop says nothing about how long the failure will last, nor that it has lasted too long.
  const auto since_first = decision.cancelled ? std::chrono::milliseconds(0) : right.since_first;
  const auto next = core::decide_retry(context_.retry, wanted, right.attempt, since_first,
                                       context_.environment->random->next());
  if (const auto* end = std::get_if<core::GiveUp>(&next); end != nullptr && context_.hold) {
    Decision over =
        dead_for(std::string(end->reason), fmt::format("{}: {}", decision.reason, decision.error));
    over.unknown = decision.unknown;
    return of_death(right, over, delivery);
  }
  const auto* again = std::get_if<core::RetryAfter>(&next);
  Ending ending{not_over(Outcome::Kind::kRetry, delivery), std::nullopt};
  ending.outcome.reason = decision.reason;
  ending.outcome.error = decision.error;
  if (again != nullptr) ending.outcome.delay = again->delay;
  if (!context_.hold) {
    if (right.lease) {
      Finish& finish = ending.finish.emplace();
      start(Finish::To::kNotStarted, right, delivery, finish);
      finish.unknown = decision.unknown;
      if (decision.stepped) {  // the results of its steps stay known
        finish.to = Finish::To::kRetrying;
        finish.counted = decision.counted;
        finish.reason = decision.reason;
        finish.error = decision.error;
      }
    }
    return ending;
  }
  Finish& finish = ending.finish.emplace();
  start(Finish::To::kRetrying, right, delivery, finish);
  finish.reason = decision.reason;
  finish.error = decision.error;
  finish.counted = decision.counted;
  finish.unknown = decision.unknown || context_.called;
  // Without a record only the held row remembers the attempts.
  if (!decision.counted && !right.lease) --finish.attempts;
  finish.delay = ending.outcome.delay;
  finish.keep = &delivery.message;
  return ending;
}

Ending Endings::of_death(const Right& right, const Decision& decision,
                         const core::TrackedDelivery& delivery) const {
  if (decision.undone_after) {
    Right first = right;
    first.attempt = *decision.undone_after;
    return given_up(first, decision, delivery);
  }
  if (!right.lease || !undoes(context_)) {
    return given_up(right, decision, delivery);
  }
  // The message comes again immediately, and its next claim runs the undo.
  Decision undo = decision;
  undo.after.reset();
  undo.giving_up = GivingUp{decision.reason, decision.error, right.attempt, 0};
  return later(right, undo, delivery);
}

Ending Endings::kept(Outcome outcome, Finish::To to, const Right& right, const Decision& decision,
                     const core::TrackedDelivery& delivery) const {
  Ending ending{std::move(outcome), std::nullopt};
  Finish& finish = ending.finish.emplace();
  start(to, right, delivery, finish);
  finish.keep = context_.hold ? &delivery.message : nullptr;
  finish.unknown = decision.unknown || context_.called;
  finish.giving_up = decision.giving_up;
  finish.reason = ending.outcome.reason = decision.reason;
  finish.error = ending.outcome.error = decision.error;
  return ending;
}

Ending Endings::later(const Right& right, const Decision& decision,
                      const core::TrackedDelivery& delivery) const {
  Ending ending = kept(not_over(Outcome::Kind::kRetry, delivery), Finish::To::kRetrying, right,
                       decision, delivery);
  ending.finish->delay = ending.outcome.delay = decision.after.value_or(milliseconds{0});
  return ending;
}

Ending Endings::left_to_person(const Right& right, const Decision& decision,
                               const core::TrackedDelivery& delivery) const {
  return kept(for_person(Outcome::Kind::kParked, delivery), Finish::To::kParked, right, decision,
              delivery);
}

Ending Endings::given_up(const Right& right, const Decision& decision,
                         const core::TrackedDelivery& delivery) const {
  Ending ending{settled(Outcome::Kind::kDead, delivery), std::nullopt};
  Finish& finish = ending.finish.emplace();
  start(Finish::To::kDead, right, delivery, finish);
  finish.keep = context_.hold ? &delivery.message : nullptr;
  finish.unknown = decision.unknown || context_.called;
  finish.reason = ending.outcome.reason = decision.reason;
  finish.error = ending.outcome.error = decision.error;
  copy(finish);
  return ending;
}

Ending Endings::of_dark_try(const Right& right, const core::TrackedDelivery& delivery) const {
  return in_the_dark(right, reason::kLeaseParked,
                     "a try before this one was begun and never ended: whether its effect was made "
                     "is not known",
                     delivery);
}

Ending Endings::in_the_dark(const Right& right, std::string_view reason, std::string error,
                            const core::TrackedDelivery& delivery) const {
  Decision decision;
  decision.kind = Decision::Kind::kParked;
  decision.reason = reason;
  decision.error = std::move(error);
  decision.unknown = true;
  Ending ending = left_to_person(right, decision, delivery);
  ending.outcome.attempt = right.attempt;
  return ending;
}

void Endings::copy(Finish& dead) const {
  if (!context_.copies_to || dead.keep == nullptr) return;
  dead.outgoing.push_back(core::dead_letter_copy(*context_.copies_to, context_.consumer, dead));
}

}  // namespace semel::strategies
