// The part of BatchRun for errors that name no message: is the store at fault, or one message?
//
// A transaction that got past its claims proves that the store works. If it fails again and again,
// the window is halved until it holds a single message. Then a transaction without the message's
// statements records the message as failed. If that transaction commits, the store works and the
// message was at fault; if it fails too, the message is given back as before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include <semel/gate.h>
#include <semel/reason.h>

#include "core/unkept_payload.h"
#include "strategies/batch_run.h"
#include "strategies/decision.h"

namespace semel::strategies {

namespace {

// Errors of the machine: its files, its data, its disk.
constexpr std::array<std::string_view, 4> kOfTheMachine = {"R201", "R202", "R203", "R205"};

std::string_view class_of_culprit(const Error& error, bool at_commit) {
  switch (error.kind) {
    case ErrorKind::kRetryTransaction:
    case ErrorKind::kBlocked:
      return "busy";
    case ErrorKind::kRejected:
      return at_commit ? "constraint" : "other";
    case ErrorKind::kUnavailable:
    case ErrorKind::kInDoubt:
    case ErrorKind::kLimit:
      break;
  }
  return "other";
}

}  // namespace

bool BatchRun::may_be_a_messages_own() const {
  // A retry on a borrowed connection would undo its owner's transaction.
  if (reached_ == Reached::kNothing || context_.store->traits().borrowed) return false;
  if (error_.kind == ErrorKind::kRejected || error_.kind == ErrorKind::kLimit) return true;
  // In a database that only one process uses, all other errors come from the machine.
  if (context_.store->traits().single_writer) return false;
  return std::ranges::find(kOfTheMachine, error_.code) == kOfTheMachine.end();
}

// True if there is more to try before messages are given back.
bool BatchRun::find_culprit() {
  if (!may_be_a_messages_own()) return false;
  const std::size_t count = window_.size();
  if (count == 1) return blame(window_.front());
  size_ = count / 2;
  tries_ = kMostTransactionTries - 1;
  return true;
}

bool BatchRun::blame(Slot& slot) {
  const bool too_large = error_.kind == ErrorKind::kLimit;
  if (!slot.acquired) return too_large && shrink_letter(slot);
  if (!slot.checked && !slot.blamed && !too_large) {
    slot.checked = true;
    tries_ = kMostTransactionTries - 1;
    return true;
  }
  // If the message cannot be held, the caller gets the error itself.
  if (!context_.hold) return false;
  const bool in_keeping = too_large && reached_ == Reached::kFlushed;
  if (!slot.blamed && (!in_keeping || slot.decision->has_effect())) {
    const auto sql_class = class_of_culprit(error_, reached_ == Reached::kFinished);
    slot.decision = failed_statement(
        in_keeping ? std::string(reason::kTooLarge) : reason::sql_reason(sql_class), error_);
  } else if (too_large && !slot.unkept) {
    leave_out_payload(slot);
  } else {
    return false;
  }
  // Without a record it cannot be learned later whether a commit without an answer had happened.
  if (error_.kind == ErrorKind::kInDoubt && !policy_.has_records()) slot.decision->unknown = true;
  slot.blamed = true;
  slot.failed = true;
  slot.list.clear();
  tries_ = 0;
  return true;
}

// The store will never accept the message as it is, so a dead letter without the payload records
// it.
void BatchRun::leave_out_payload(Slot& slot) {
  const std::string reason = slot.blamed ? slot.decision->reason : std::string(reason::kTooLarge);
  keep_without_payload(slot);
  slot.decision =
      dead_for(reason, slot.decision->error.empty()
                           ? slot.why_unkept
                           : fmt::format("{}; {}", slot.decision->error, slot.why_unkept));
}

// A conflict has no claim, so only its dead letter is written.
bool BatchRun::shrink_letter(Slot& slot) {
  if (slot.unkept || !context_.hold) return false;
  if (!std::holds_alternative<Conflict>(claims_.front())) return false;
  keep_without_payload(slot);
  tries_ = 0;
  return true;
}

void BatchRun::keep_without_payload(Slot& slot) const {
  const Message& message = slot.delivery->message;
  slot.unkept = std::make_unique<core::TrackedDelivery>(core::without_payload(message),
                                                        slot.delivery->arrival);
  slot.why_unkept = core::unkept_text(message.payload().size(), error_.message);
}

bool BatchRun::is_hopeless(const Slot& slot) {
  return slot.acquired && slot.decision && slot.decision->kind == Decision::Kind::kDead &&
         slot.decision->remedy == Remedy::kStatement;
}

// A missing column, table or permission fails every message. After a few such failures in a row,
// the consumer pauses, so that it does not turn a whole source into dead letters. A second part is
// not withheld, because its call was already made.
void BatchRun::withhold_if_hopeless() {
  forget_hopeless();
  if (context_.services.gate == nullptr || options_.second_part) return;
  const bool one_succeeds = std::ranges::any_of(window_, [](const Slot& slot) {
    return slot.acquired && !slot.missed && slot.decision && slot.decision->has_effect();
  });
  if (one_succeeds) return;
  for (Slot& slot : window_) {
    if (!is_hopeless(slot)) continue;
    if (stats_.hopeless.take()) {
      ++hopeless_;
      continue;
    }
    slot.withheld = true;
    release(slot);
    pause(slot);
  }
}

void BatchRun::forget_hopeless() { stats_.hopeless.give_back(std::exchange(hopeless_, 0)); }

// Must be called in the order of the messages.
void BatchRun::count_hopeless(const Slot& slot) {
  if (slot.outcome.kind == Outcome::Kind::kDone) return stats_.hopeless.end();
  if (!is_hopeless(slot)) return;
  if (hopeless_ > 0) {
    --hopeless_;
  } else if (stats_.hopeless.add() >= HopelessRun::kMost && options_.second_part) {
    pause(slot);
  }
}

void BatchRun::pause(const Slot& slot) {
  if (context_.services.gate == nullptr) return;
  context_.services.gate->pause(
      fmt::format("{} messages in a row failed for a reason that no message can change: {}; mend "
                  "the statement, the tables or the rights, then resume it",
                  HopelessRun::kMost, slot.decision->error));
}

// Gives the claim back in the same transaction.
void BatchRun::release(Slot& slot) {
  slot.acquired = false;
  slot.returned = true;
  if (slot.blocked) {
    slot.outcome = blocked_by(*slot.blocked, slot.wait);
    return;
  }
  slot.outcome = Outcome{};
  slot.outcome.kind = Outcome::Kind::kBusy;
  slot.outcome.settle = Outcome::Settle::kRelease;
}

}  // namespace semel::strategies
