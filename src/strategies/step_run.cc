#include "strategies/step_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <semel/environment.h>
#include <semel/reason.h>

#include "core/failpoints.h"
#include "core/retry_decision.h"
#include "core/step_key.h"
#include "strategies/backoff.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;
using State = StepEntry::State;

// How long a finished step is written again while the store is unavailable: the call was made, and
// only the journal prevents a second one.
constexpr milliseconds kJournalPatience{10'000};
constexpr milliseconds kJournalFirstWait{2};
constexpr milliseconds kJournalLongestWait{500};
// An undo also ends after failures that do not count, this many for each attempt: its service may
// be unavailable for hours, but not for ever.
constexpr int kUncountedForEachTry = 10;
// The minimum of attempts, so that a service that is unavailable for minutes parks nothing.
constexpr int kFewestTries = 8;
// The largest number that the journal of every store can hold.
constexpr int kMostUndoTries = 30'000;

Decision parked_for(std::string_view reason, std::string error) {
  Decision decision;
  decision.kind = Decision::Kind::kParked;
  decision.reason = reason;
  decision.error = std::move(error);
  return decision;
}

Decision away(const Error& error, bool unknown) {
  Decision decision = failed(std::string(reason::kStoreUnavailable), error.message);
  decision.counted = false;
  decision.unknown = unknown;
  decision.store_error = std::make_shared<const Error>(error);
  return decision;
}

std::string shown_name(const StepEntry& entry) { return core::step_name(entry.name, entry.id); }

std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool undoes(const Context& context) noexcept {
  return context.steps && std::ranges::any_of(*context.steps, [](const StepSpec& step) {
           return static_cast<bool>(step.undo);
         });
}

StepStore* journal_of(const Context& context, const ClaimInfo& claim_info) {
  return claim_info.lease ? context.store->facets().steps : nullptr;
}

// A message that was given up has been tried before, or its consumer has undos. For other messages
// the journal need not be read.
bool StepRun::may_be_giving_up() const {
  return !call_.claim_info.made_record() || undoes(context_);
}

Decision StepRun::run(Attempt attempt) {
  attempt_ = std::move(attempt);
  if (may_be_giving_up()) {
    if (auto trouble = load()) return later(*std::move(trouble));
    if (auto changed = names_without_code()) return *std::move(changed);
    if (journal_->giving_up) return undo_all();
  }
  attempt_.steps = this;
  Decision decision = call_handler(context_, call_.delivery->message, attempt_);
  if (over_) decision = *std::move(over_);
  decision.stepped = journal_ && !journal_->entries.empty();
  if (over_) return decision;
  const bool ended =
      decision.kind == Decision::Kind::kDone || decision.kind == Decision::Kind::kDiscarded;
  if (ended && !journal_) return decision;
  if (ended) {
    if (auto changed = steps_without_call()) return *std::move(changed);
  }
  return decision;
}

void StepRun::over(Decision decision) {
  over_ = std::move(decision);
  throw StepsOver{};
}

std::optional<Decision> StepRun::load() {
  auto read = store_.read(call_.claim_info.lease->key);
  if (!read) return away(read.error(), false);
  journal_ = *std::move(read);
  return std::nullopt;
}

StepEntry* StepRun::find(std::string_view name, BytesView id) {
  const auto at = std::ranges::find_if(journal_->entries, [&](const StepEntry& entry) {
    return entry.name == name && entry.id == id;
  });
  return at == journal_->entries.end() ? nullptr : &*at;
}

const StepSpec* StepRun::spec_of(std::string_view name) const {
  if (!context_.steps) return nullptr;
  const auto at = std::ranges::find(*context_.steps, name, &StepSpec::name);
  return at == context_.steps->end() ? nullptr : &*at;
}

void StepRun::check_name(std::string_view name, BytesView id) {
  auto why = core::refuse_step(name, id);
  if (!why && context_.steps && spec_of(name) == nullptr) {
    why = fmt::format("step \"{}\" is none of those that were declared for this handler", name);
  }
  if (!why) return;
  Decision refused = failed(std::string(reason::kHandlerNative), *std::move(why));
  refused.thrown = true;
  over(std::move(refused));
}

// By default the message's fingerprint, which represents the input of all its steps.
Fingerprint StepRun::input_of(BytesView input) const {
  return input.empty() ? call_.delivery->message.fingerprint() : core::input_fingerprint(input);
}

Steps::Begun StepRun::begin(std::string_view name, BytesView id, BytesView input) {
  if (over_) throw StepsOver{};
  check_name(name, id);
  if (attempt_.stop.stop_requested()) {
    Decision stopped =
        failed(std::string(reason::kHandlerTimeout),
               fmt::format("told to stop before step {}", core::step_name(name, id)));
    forgive_if_cancelled(stopped, watch_);
    over(std::move(stopped));
  }
  if (!journal_) {
    if (auto trouble = load()) over(*std::move(trouble));
  }
  met_.push_back(core::step_name(name, id));
  const StepEntry* const entry = find(name, id);
  const BytesView key = call_.delivery->message.key().text;
  if (entry == nullptr) return {core::step_key(key, name, id, 1), std::nullopt};
  if (entry->state == State::kUndone) {
    return {core::step_key(key, name, id, entry->round + 1), std::nullopt};
  }
  if (entry->input != input_of(input)) {
    over(parked_for(reason::kStepsChanged,
                    fmt::format("step {} was done before with another input; still done: {}",
                                met_.back(), still_done())));
  }
  return {core::step_key(key, name, id, entry->round), entry->result};
}

void StepRun::finish(std::string_view name, BytesView id, BytesView input, BytesView result) {
  if (over_) throw StepsOver{};
  check_name(name, id);
  if (!journal_) {
    if (auto trouble = load()) over(*std::move(trouble));
  }
  StepEntry entry;
  entry.name = name;
  entry.id = id;
  entry.input = input_of(input);
  StepEntry* const before = find(name, id);
  if (before != nullptr && before->state == State::kUndone) entry.round = before->round + 1;
  const bool fits = result.size() <= context_.limits.result;
  if (fits) entry.result = result;
  if (auto trouble = keep(entry)) over(*std::move(trouble));
  if (before != nullptr) {
    journal_->entries.erase(journal_->entries.begin() + (before - journal_->entries.data()));
  }
  journal_->entries.push_back(std::move(entry));
  if (fits) return;
  Decision large =
      dead_for(std::string(reason::kTooLarge),
               fmt::format("the result of step {} has {} bytes, the limit is {}",
                           core::step_name(name, id), result.size(), context_.limits.result));
  large.unknown = true;
  over(std::move(large));
}

std::optional<Decision> StepRun::keep(const StepEntry& entry) {
  failpoint::hit(*context_.environment, failpoint::kStepBefore);
  const milliseconds patience = std::min(context_.claim.lease, kJournalPatience);
  const auto began = context_.environment->clock->now();
  Backoff backoff(*context_.environment->random, kJournalFirstWait, kJournalLongestWait);
  for (;;) {
    const auto kept = store_.keep(*call_.claim_info.lease, entry);
    if (kept && *kept == Applied::kYes) break;
    if (kept) {
      // The store refuses this decision, because the lease is lost.
      Decision lost = failed(std::string(reason::kHandlerTimeout),
                             fmt::format("the lease was lost in step {}", shown_name(entry)));
      lost.counted = false;
      lost.unknown = true;
      return lost;
    }
    const ErrorKind kind = kept.error().kind;
    const bool final = kind == ErrorKind::kRejected || kind == ErrorKind::kLimit;
    const bool late =
        backoff.waited() >= patience || context_.environment->clock->now() - began >= patience;
    if (final || late) return away(kept.error(), true);
    backoff.wait();
  }
  failpoint::hit(*context_.environment, failpoint::kStepAfter);
  return std::nullopt;
}

// Checked before anything is done: the code must know every step in the journal.
std::optional<Decision> StepRun::names_without_code() const {
  if (!context_.steps) {
    if (!journal_->giving_up) return std::nullopt;
    const std::string left = still_done();
    if (left == "none" || context_.gives_up) return std::nullopt;
    return parked_for(
        reason::kStepsChanged,
        "its steps are to be undone, and the program says of none how; still done: " + left);
  }
  std::vector<std::string> strange;
  for (const StepEntry& entry : journal_->entries) {
    if (entry.state == State::kDone && spec_of(entry.name) == nullptr) {
      strange.push_back(shown_name(entry));
    }
  }
  if (strange.empty()) return std::nullopt;
  std::vector<std::string> known;
  for (const StepSpec& step : *context_.steps) known.push_back(step.name);
  return parked_for(reason::kStepsChanged,
                    fmt::format("steps that are done and no longer in the handler: {}; the handler "
                                "has: {}",
                                list_of(strange), list_of(known)));
}

std::optional<Decision> StepRun::steps_without_call() const {
  std::vector<std::string> missed;
  for (const StepEntry& entry : journal_->entries) {
    if (entry.state != State::kDone) continue;
    const std::string name = shown_name(entry);
    if (std::ranges::find(met_, name) == met_.end()) missed.push_back(name);
  }
  if (missed.empty()) return std::nullopt;
  Decision changed = parked_for(
      reason::kStepsChanged,
      fmt::format("steps that an earlier try did and this one did not come to: {}; it came to: {}",
                  list_of(missed), list_of(met_)));
  changed.unknown = true;
  return changed;
}

Decision StepRun::undo_all() {
  if (context_.gives_up) {
    Decision crashed =
        parked_for(reason::kCrash,
                   "the process died while its steps were undone; still done: " + still_done());
    crashed.unknown = true;
    return crashed;
  }
  bool first = true;
  auto& entries = journal_->entries;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->state == State::kUndone) continue;
    const StepSpec* const spec = spec_of(entry->name);
    if (spec == nullptr || !spec->undo) continue;
    // Each undo has the handler's whole timeout.
    if (!std::exchange(first, false) && watch_ != nullptr) {
      watch_->handler_ended(lease_);
      attempt_.stop = watch_->handler_begins(lease_);
    }
    if (auto trouble = undo(*entry, spec->undo)) return *std::move(trouble);
    journal_->giving_up->undo_tries = 0;
    journal_->giving_up->uncounted_undo_tries = 0;
  }
  const GivingUp& note = *journal_->giving_up;
  const std::string left = still_done();
  Decision dead = dead_for(note.reason, note.error);
  if (left != "none") dead.error += "; still done, for it has no undo: " + left;
  dead.undone_after = note.attempts;
  return dead;
}

std::optional<Decision> StepRun::undo(StepEntry& entry, const UndoHandler& handler) {
  if (attempt_.stop.stop_requested()) {
    Decision stopped;
    stopped.kind = Decision::Kind::kLater;
    stopped.reason = reason::kStepsUndo;
    stopped.error = "stopped; still done: " + still_done();
    stopped.giving_up = journal_->giving_up;
    return stopped;
  }
  const Verdict verdict = call_undo(entry, handler);
  const auto kind = verdict.kind();
  if (kind != Verdict::Kind::kDone && kind != Verdict::Kind::kDiscard) {
    return undo_failed(entry, verdict);
  }
  StepEntry undone = entry;
  undone.state = State::kUndone;
  if (auto trouble = keep(undone)) return later(*std::move(trouble));
  entry.state = State::kUndone;
  return std::nullopt;
}

// An error of the store while a message is given up, or while that is not known: no time limit
// gives it up for that, and the note of the first reason stays.
Decision StepRun::later(Decision trouble) const {
  trouble.kind = Decision::Kind::kLater;
  trouble.after = kAskStoreAgain;
  if (journal_) trouble.giving_up = journal_->giving_up;
  return trouble;
}

Verdict StepRun::call_undo(const StepEntry& entry, const UndoHandler& handler) const {
  const Message& message = call_.delivery->message;
  const StepUndo undo{entry.name, entry.id, entry.result,
                      core::undo_key(message.key().text, entry.name, entry.id, entry.round)};
  try {
    return handler(message, undo, attempt_);
  } catch (...) {
    const Decision thrown = decide_thrown(attempt_);
    return thrown.kind == Decision::Kind::kDead ? dead(thrown.error) : retry(thrown.error);
  }
}

Decision StepRun::undo_failed(const StepEntry& entry, const Verdict& verdict) {
  GivingUp note = *journal_->giving_up;
  const bool cancelled = watch_ != nullptr && watch_->cancelled();
  const bool counts = verdict.counted() && !cancelled;
  if (counts) {
    ++note.undo_tries;
  } else if (!cancelled) {
    ++note.uncounted_undo_tries;
  }
  Verdict::Retry again;
  again.after = verdict.after();
  again.asked = verdict.asked();
  again.counted = counts;
  // The time since the message was first seen does not matter for its undo: only the attempts end
  // it.
  const int tries = counts ? note.undo_tries : std::max(note.undo_tries, note.uncounted_undo_tries);
  RetryPolicy policy = context_.retry;
  policy.attempts = std::min(policy.attempts, kMostUndoTries);
  const auto next = core::decide_retry(policy, again, std::max(tries, 1), milliseconds{0},
                                       context_.environment->random->next());
  const auto* const wait = std::get_if<core::RetryAfter>(&next);
  const int most =
      std::min(std::max(policy.attempts, kFewestTries) * kUncountedForEachTry, kMostUndoTries);
  const bool patient = policy.attempts <= 0 || note.uncounted_undo_tries < most;
  const std::string what = fmt::format("the undo of step {} failed: {}; still done: {}",
                                       shown_name(entry), verdict.reason(), still_done());
  Decision decision = parked_for(reason::kStepsUndo, what);
  decision.unknown = verdict.unknown();
  if (wait != nullptr && patient && verdict.kind() != Verdict::Kind::kDead) {
    decision.kind = Decision::Kind::kLater;
    decision.after = wait->delay;
  } else {
    // If an operator lets the undo run again, it has all its attempts again.
    note.undo_tries = 0;
    note.uncounted_undo_tries = 0;
  }
  decision.giving_up = std::move(note);
  return decision;
}

std::string StepRun::still_done() const {
  std::vector<std::string> names;
  for (const StepEntry& entry : journal_->entries) {
    if (entry.state == State::kDone) names.push_back(shown_name(entry));
  }
  return list_of(names);
}

std::optional<Decision> refuse_journalled(const Context& context, const Call& call) {
  StepStore* const store = journal_of(context, call.claim_info);
  if (store == nullptr || call.claim_info.made_record()) return std::nullopt;
  auto journal = store->read(call.claim_info.lease->key);
  if (!journal) return away(journal.error(), false);
  std::vector<std::string> done;
  for (const StepEntry& entry : journal->entries) {
    if (entry.state == State::kDone) done.push_back(shown_name(entry));
  }
  if (done.empty() && !journal->giving_up) return std::nullopt;
  return parked_for(
      reason::kStepsChanged,
      "the handler has no steps, and an earlier one had; still done: " + list_of(done));
}

}  // namespace semel::strategies
