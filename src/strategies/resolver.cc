#include "strategies/resolver.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <variant>

#include <semel/reason.h>

#include "core/dead_letter_copy.h"
#include "core/publication_key.h"
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
      // Another holder gets the same answer; in both cases the source brings the message again.
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
  outcome.store_error = std::make_shared<const Error>(error);
  outcome.delay = delay;
  return outcome;
}

Outcome kept_by_engine() {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kRetry;
  outcome.settle = Outcome::Settle::kKeep;
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

void Resolver::start(Finish::To to, const ClaimInfo& claim_info,
                     const core::TrackedDelivery& delivery, Finish& finish) const {
  finish.to = to;
  finish.lease = claim_info.lease;
  finish.attempts = claim_info.attempt;
  finish.ack = delivery.arrival.row;
  finish.arrival = &delivery.arrival;
  finish.inbox = inbox_;
  if (inbox_) finish.keep = &delivery.message;
}

Outcome Resolver::not_over(Outcome::Kind kind, const core::TrackedDelivery& delivery) const {
  Outcome outcome = settled(kind, delivery);
  if (!context_.hold) outcome.settle = Outcome::Settle::kLater;
  return outcome;
}

Outcome Resolver::for_person(Outcome::Kind kind, const core::TrackedDelivery& delivery) const {
  Outcome outcome = not_over(kind, delivery);
  if (!context_.hold) outcome.delay = kAskPersonAgain;
  return outcome;
}

Resolution Resolver::of_closed(const Closed& closed, const core::TrackedDelivery& delivery) const {
  Resolution resolution{settled(Outcome::Kind::kDead, delivery), row_only(delivery)};
  if (closed.parked) resolution.outcome = for_person(Outcome::Kind::kParked, delivery);
  if (closed.parked && !closed.held) {
    // If an operator lets the message run again, this delivery is the one that runs.
    resolution.outcome.settle = Outcome::Settle::kLater;
    resolution.outcome.delay = kAskPersonAgain;
    resolution.finish.reset();
  }
  resolution.outcome.reason = closed.reason;
  resolution.outcome.closed_before = true;
  return resolution;
}

Resolution Resolver::of_claim(const Claim& claim, const core::TrackedDelivery& delivery,
                              std::string_view unkept) const {
  return std::visit(
      Overload{
          [&](const Acquired&) { return Resolution{}; },
          [&](const Completed& completed) {
            Resolution resolution{settled(Outcome::Kind::kDuplicate, delivery), row_only(delivery)};
            resolution.outcome.result = completed.result;
            resolution.outcome.completed_at = completed.completed_at;
            return resolution;
          },
          [&](const Busy& busy) {
            Resolution resolution;
            resolution.outcome.kind = Outcome::Kind::kBusy;
            resolution.outcome.settle = Outcome::Settle::kLater;
            resolution.outcome.delay = busy.retry_after;
            return resolution;
          },
          [&](const Waiting& waiting) {
            Resolution resolution{not_over(Outcome::Kind::kRetry, delivery), row_only(delivery)};
            resolution.outcome.delay = waiting.next_in;
            return resolution;
          },
          [&](const Closed& closed) { return of_closed(closed, delivery); },
          [&](const Conflict& conflict) {
            if (const auto answer = answer_to_original(context_, conflict, delivery.message)) {
              return of_claim(*answer, delivery, unkept);
            }
            Resolution resolution{for_person(Outcome::Kind::kConflict, delivery), std::nullopt};
            resolution.outcome.error = "the key was used before, with another payload";
            if (!unkept.empty()) resolution.outcome.error += fmt::format("; {}", unkept);
            if (context_.hold) {
              Finish finish;
              finish.to = Finish::To::kDead;
              finish.reason = reason::kKeyConflict;
              finish.error = resolution.outcome.error;
              finish.keep = &delivery.message;
              finish.arrival = &delivery.arrival;
              finish.ack = delivery.arrival.row;
              copy(finish);
              resolution.finish = std::move(finish);
            } else {
              resolution.outcome.error += ": nothing keeps this message but its source";
            }
            resolution.outcome.reason = reason::kKeyConflict;
            return resolution;
          },
      },
      claim);
}

Resolution Resolver::of_decision(const ClaimInfo& claim_info, const Decision& decision,
                                 const core::TrackedDelivery& delivery) const {
  Resolution resolution;
  if (context_.parks_doubt && decision.in_doubt()) {
    return in_the_dark(claim_info, reason::kOutcomeUnknown,
                       fmt::format("{}: {}", decision.reason, decision.error), delivery);
  }
  switch (decision.kind) {
    case Decision::Kind::kDone:
    case Decision::Kind::kDiscarded:
    case Decision::Kind::kDuplicate:
      resolution = of_success(claim_info, decision, delivery);
      break;
    case Decision::Kind::kDead:
      resolution = of_death(claim_info, decision, delivery);
      break;
    case Decision::Kind::kLater:
      resolution = later(claim_info, decision, delivery);
      break;
    case Decision::Kind::kParked:
      resolution = left_to_person(claim_info, decision, delivery);
      break;
    case Decision::Kind::kFailed:
      resolution = of_failure(claim_info, decision, delivery);
      break;
  }
  resolution.outcome.attempt = decision.untried ? 0 : claim_info.attempt;
  resolution.outcome.store_error = decision.store_error;
  return resolution;
}

void Resolver::complete(const ClaimInfo& claim_info, const Decision& decision,
                        const core::TrackedDelivery& delivery, Outcome& outcome,
                        Finish& finish) const {
  start(Finish::To::kCompleted, claim_info, delivery, finish);
  finish.result = decision.result;
  if (sends(decision)) send(decision, delivery, finish);
  settle(success_of(decision), delivery, outcome);
  outcome.result = decision.result;
  outcome.reason = decision.reason;
  outcome.error = decision.error;
  outcome.attempt = claim_info.attempt;
  outcome.delay = milliseconds{0};
  outcome.completed_at = {};
}

Resolution Resolver::of_success(const ClaimInfo& claim_info, const Decision& decision,
                                const core::TrackedDelivery& delivery) const {
  Resolution resolution;
  if (claim_info.lease) {
    complete(claim_info, decision, delivery, resolution.outcome, resolution.finish.emplace());
    return resolution;
  }
  settle(success_of(decision), delivery, resolution.outcome);
  resolution.outcome.result = decision.result;
  resolution.outcome.error = decision.error;
  // The message was handled: a record of an earlier strategy must not keep its row.
  resolution.finish = row_only(delivery, Finish::To::kCompleted);
  if (!sends(decision)) return resolution;
  if (!resolution.finish) resolution.finish.emplace().to = Finish::To::kCompleted;
  send(decision, delivery, *resolution.finish);
  return resolution;
}

bool Resolver::sends(const Decision& decision) const noexcept {
  return decision.has_effect() && !(decision.publications.empty() && context_.forward_to.empty());
}

// Uses the same key whenever the message is handled again, so that receivers recognise a repeat.
void Resolver::send(const Decision& decision, const core::TrackedDelivery& delivery,
                    Finish& finish) const {
  const Message& message = delivery.message;
  const Bytes key = message.key().text.empty() ? delivery.arrival.position : message.key().text;
  std::map<ConsumerNumber, int> sent;
  for (const Publication& one : decision.publications) {
    Outgoing& outgoing = finish.outgoing.emplace_back();
    const core::Route& route = context_.destinations.find(one.destination)->second;
    outgoing.to = route.to;
    outgoing.message = one.message;
    core::add_traceparent(outgoing.message.headers, message);
    if (outgoing.message.key) continue;
    outgoing.message.key =
        core::key_at(route, context_.consumer, core::publication_key(key, ++sent[route.to]));
  }
  for (const core::Route& route : context_.forward_to) {
    Outgoing& outgoing = finish.outgoing.emplace_back();
    outgoing.to = route.to;
    outgoing.message.payload = message.payload();
    outgoing.message.headers = core::outgoing_headers(message);
    outgoing.message.content_type = message.content_type();
    outgoing.message.type = message.type();
    outgoing.message.key =
        core::key_at(route, context_.consumer, core::publication_key(key, ++sent[route.to]));
  }
}

Resolution Resolver::of_failure(const ClaimInfo& claim_info, const Decision& decision,
                                const core::TrackedDelivery& delivery) const {
  Verdict::Retry wanted;
  wanted.after = decision.after;
  wanted.asked = decision.asked;
  wanted.counted = decision.counted;
  // A stop does not show how long the failure will last, nor that it has lasted too long.
  const auto since_first =
      decision.cancelled ? std::chrono::milliseconds(0) : claim_info.since_first;
  const auto next = core::decide_retry(context_.retry, wanted, claim_info.attempt, since_first,
                                       context_.environment->random->next());
  if (const auto* end = std::get_if<core::GiveUp>(&next); end != nullptr && context_.hold) {
    Decision over =
        dead_for(std::string(end->reason), fmt::format("{}: {}", decision.reason, decision.error));
    over.unknown = decision.unknown;
    return of_death(claim_info, over, delivery);
  }
  const auto* again = std::get_if<core::RetryAfter>(&next);
  Resolution resolution{not_over(Outcome::Kind::kRetry, delivery), std::nullopt};
  resolution.outcome.reason = decision.reason;
  resolution.outcome.error = decision.error;
  if (again != nullptr) resolution.outcome.delay = again->delay;
  if (!context_.hold) {
    if (claim_info.lease) {
      Finish& finish = resolution.finish.emplace();
      start(Finish::To::kNotStarted, claim_info, delivery, finish);
      finish.unknown = decision.unknown;
      if (decision.stepped) {  // the results of its steps are still known
        finish.to = Finish::To::kRetrying;
        finish.counted = decision.counted;
        finish.reason = decision.reason;
        finish.error = decision.error;
      }
    }
    return resolution;
  }
  Finish& finish = resolution.finish.emplace();
  start(Finish::To::kRetrying, claim_info, delivery, finish);
  finish.reason = decision.reason;
  finish.error = decision.error;
  finish.counted = decision.counted;
  finish.unknown = decision.unknown || context_.called;
  // Without a record only the held row remembers the attempts.
  if (!decision.counted && !claim_info.lease) --finish.attempts;
  finish.delay = resolution.outcome.delay;
  finish.keep = &delivery.message;
  return resolution;
}

Resolution Resolver::of_death(const ClaimInfo& claim_info, const Decision& decision,
                              const core::TrackedDelivery& delivery) const {
  if (decision.undone_after) {
    ClaimInfo first = claim_info;
    first.attempt = *decision.undone_after;
    return given_up(first, decision, delivery);
  }
  if (!claim_info.lease || !undoes(context_)) {
    return given_up(claim_info, decision, delivery);
  }
  // The message comes again immediately, and its next claim runs the undo.
  Decision undo = decision;
  undo.after.reset();
  undo.giving_up = GivingUp{decision.reason, decision.error, claim_info.attempt, 0};
  return later(claim_info, undo, delivery);
}

Resolution Resolver::kept(Outcome outcome, Finish::To to, const ClaimInfo& claim_info,
                          const Decision& decision, const core::TrackedDelivery& delivery) const {
  Resolution resolution{std::move(outcome), std::nullopt};
  Finish& finish = resolution.finish.emplace();
  start(to, claim_info, delivery, finish);
  finish.keep = context_.hold ? &delivery.message : nullptr;
  finish.unknown = decision.unknown || context_.called;
  finish.giving_up = decision.giving_up;
  finish.reason = resolution.outcome.reason = decision.reason;
  finish.error = resolution.outcome.error = decision.error;
  return resolution;
}

Resolution Resolver::later(const ClaimInfo& claim_info, const Decision& decision,
                           const core::TrackedDelivery& delivery) const {
  Resolution resolution = kept(not_over(Outcome::Kind::kRetry, delivery), Finish::To::kRetrying,
                               claim_info, decision, delivery);
  resolution.finish->delay = resolution.outcome.delay = decision.after.value_or(milliseconds{0});
  resolution.finish->counted = decision.counted;
  return resolution;
}

Resolution Resolver::left_to_person(const ClaimInfo& claim_info, const Decision& decision,
                                    const core::TrackedDelivery& delivery) const {
  return kept(for_person(Outcome::Kind::kParked, delivery), Finish::To::kParked, claim_info,
              decision, delivery);
}

Resolution Resolver::given_up(const ClaimInfo& claim_info, const Decision& decision,
                              const core::TrackedDelivery& delivery) const {
  Resolution resolution{settled(Outcome::Kind::kDead, delivery), std::nullopt};
  Finish& finish = resolution.finish.emplace();
  start(Finish::To::kDead, claim_info, delivery, finish);
  finish.keep = context_.hold ? &delivery.message : nullptr;
  finish.unknown = decision.unknown || context_.called;
  finish.reason = resolution.outcome.reason = decision.reason;
  finish.error = resolution.outcome.error = decision.error;
  copy(finish);
  return resolution;
}

Resolution Resolver::of_dark_try(const ClaimInfo& claim_info,
                                 const core::TrackedDelivery& delivery) const {
  return in_the_dark(
      claim_info, reason::kLeaseParked,
      "an earlier attempt was begun and never ended: whether it had its effect is not known",
      delivery);
}

Resolution Resolver::in_the_dark(const ClaimInfo& claim_info, std::string_view reason,
                                 std::string error, const core::TrackedDelivery& delivery) const {
  Decision decision;
  decision.kind = Decision::Kind::kParked;
  decision.reason = reason;
  decision.error = std::move(error);
  decision.unknown = true;
  Resolution resolution = left_to_person(claim_info, decision, delivery);
  resolution.outcome.attempt = claim_info.attempt;
  return resolution;
}

void Resolver::copy(Finish& dead) const {
  if (!context_.copies_to || dead.keep == nullptr) return;
  dead.outgoing.push_back(core::dead_letter_copy(*context_.copies_to, context_.consumer, dead));
}

}  // namespace semel::strategies
