#include "strategies/endings.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include <semel/reason.h>

#include "core/retry_decision.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

// The message is settled: by the commit that takes its row, or by telling its source.
void settle(Outcome::Kind kind, const Delivery& delivery, Outcome& outcome) {
  outcome.kind = kind;
  outcome.settle = delivery.arrival.row ? Outcome::Settle::kAcked : Outcome::Settle::kAck;
}

Outcome settled(Outcome::Kind kind, const Delivery& delivery) {
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

std::optional<Finish> row_only(const Delivery& delivery) {
  if (!delivery.arrival.row) return std::nullopt;
  Finish finish;
  finish.to = Finish::To::kAckOnly;
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

bool came_true(Finish::To to, const Claim& claim) {
  switch (to) {
    case Finish::To::kCompleted:
      return std::holds_alternative<Completed>(claim);
    case Finish::To::kDead:
      return std::holds_alternative<Closed>(claim);
    case Finish::To::kRetrying:
      if (const auto* acquired = std::get_if<Acquired>(&claim)) return !acquired->taken_over;
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

void Endings::start(Finish::To to, const Right& right, const Delivery& delivery,
                    Finish& finish) const {
  finish.to = to;
  finish.lease = right.lease;
  finish.attempts = right.attempt;
  finish.ack = delivery.arrival.row;
  finish.arrival = &delivery.arrival;
  finish.inbox = inbox_;
  if (inbox_) finish.keep = &delivery.message;
}

Ending Endings::of_claim(const Claim& claim, const Delivery& delivery) const {
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
            Ending ending{settled(Outcome::Kind::kRetry, delivery), row_only(delivery)};
            ending.outcome.delay = waiting.next_in;
            return ending;
          },
          [&](const Closed& closed) {
            Ending ending{settled(Outcome::Kind::kDead, delivery), row_only(delivery)};
            ending.outcome.reason = closed.reason;
            return ending;
          },
          [&](const Conflict&) {
            Ending ending;
            ending.outcome.kind = Outcome::Kind::kConflict;
            if (context_.hold) {
              ending.outcome = settled(Outcome::Kind::kConflict, delivery);
              Finish finish;
              finish.to = Finish::To::kDead;
              finish.reason = reason::kKeyConflict;
              finish.error = "the key was used before, with another payload";
              finish.keep = &delivery.message;
              finish.arrival = &delivery.arrival;
              finish.ack = delivery.arrival.row;
              ending.outcome.error = finish.error;
              ending.finish = std::move(finish);
            }
            ending.outcome.reason = reason::kKeyConflict;
            return ending;
          },
      },
      claim);
}

Ending Endings::of_decision(const Right& right, const Decision& decision,
                            const Delivery& delivery) const {
  Ending ending;
  switch (decision.kind) {
    case Decision::Kind::kDone:
    case Decision::Kind::kDiscarded:
    case Decision::Kind::kDuplicate:
      ending = of_success(right, decision, delivery);
      break;
    case Decision::Kind::kDead:
      ending = given_up(right, decision.reason, decision.error, decision.unknown, delivery);
      break;
    case Decision::Kind::kFailed:
      ending = of_failure(right, decision, delivery);
      break;
  }
  ending.outcome.attempt = right.attempt;
  return ending;
}

void Endings::complete(const Right& right, const Decision& decision, const Delivery& delivery,
                       Outcome& outcome, Finish& finish) const {
  start(Finish::To::kCompleted, right, delivery, finish);
  finish.result = decision.result;
  settle(success_of(decision), delivery, outcome);
  outcome.result = decision.result;
  outcome.reason.clear();
  outcome.error = decision.error;
  outcome.attempt = right.attempt;
  outcome.delay = milliseconds{0};
  outcome.completed_at = {};
}

Ending Endings::of_success(const Right& right, const Decision& decision,
                           const Delivery& delivery) const {
  Ending ending;
  if (right.lease) {
    complete(right, decision, delivery, ending.outcome, ending.finish.emplace());
    return ending;
  }
  settle(success_of(decision), delivery, ending.outcome);
  ending.outcome.result = decision.result;
  ending.outcome.error = decision.error;
  ending.finish = row_only(delivery);
  return ending;
}

Ending Endings::of_failure(const Right& right, const Decision& decision,
                           const Delivery& delivery) const {
  Verdict verdict = retry({}, decision.after);
  verdict.counted = decision.counted;
  const auto next = core::decide_retry(context_.retry, verdict, right.attempt, right.since_first,
                                       context_.environment->random->next());
  if (const auto* end = std::get_if<core::GiveUp>(&next); end != nullptr && context_.hold) {
    return given_up(right, std::string(end->reason),
                    fmt::format("{}: {}", decision.reason, decision.error), decision.unknown,
                    delivery);
  }
  const auto* again = std::get_if<core::RetryAfter>(&next);
  Ending ending{settled(Outcome::Kind::kRetry, delivery), std::nullopt};
  ending.outcome.reason = decision.reason;
  ending.outcome.error = decision.error;
  if (again != nullptr) ending.outcome.delay = again->delay;
  if (!context_.hold) {
    ending.outcome.settle = Outcome::Settle::kLater;
    if (right.lease) {
      start(Finish::To::kNotStarted, right, delivery, ending.finish.emplace());
      ending.finish->unknown = decision.unknown;
    }
    return ending;
  }
  Finish& finish = ending.finish.emplace();
  start(Finish::To::kRetrying, right, delivery, finish);
  finish.reason = decision.reason;
  finish.error = decision.error;
  finish.counted = decision.counted;
  finish.unknown = decision.unknown || context_.called;
  // Without a record the held row is all that remembers the tries.
  if (!decision.counted && !right.lease) --finish.attempts;
  finish.delay = ending.outcome.delay;
  finish.keep = &delivery.message;
  return ending;
}

Ending Endings::given_up(const Right& right, std::string reason, std::string error, bool unknown,
                         const Delivery& delivery) const {
  Ending ending{settled(Outcome::Kind::kDead, delivery), std::nullopt};
  start(Finish::To::kDead, right, delivery, ending.finish.emplace());
  ending.finish->keep = context_.hold ? &delivery.message : nullptr;
  ending.finish->unknown = unknown || context_.called;
  ending.finish->reason = reason;
  ending.finish->error = error;
  ending.outcome.reason = std::move(reason);
  ending.outcome.error = std::move(error);
  return ending;
}

}  // namespace semel::strategies
