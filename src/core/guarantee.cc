#include "core/guarantee.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/retention.h"

namespace semel {

const char* to_string(Guarantee::Name name) noexcept {
  switch (name) {
    case Guarantee::Name::kTransactional:
      return "transactional";
    case Guarantee::Name::kIdempotent:
      return "idempotent";
    case Guarantee::Name::kKeyedRetry:
      return "keyed_retry";
    case Guarantee::Name::kAtLeastOnce:
      return "at_least_once";
    case Guarantee::Name::kAtMostOnce:
      return "at_most_once";
    case Guarantee::Name::kNone:
      return "none";
  }
  return "unknown";
}

const char* to_string(Guarantee::Effect effect) noexcept {
  switch (effect) {
    case Guarantee::Effect::kOnce:
      return "once";
    case Guarantee::Effect::kAtMostOnce:
      return "at most once";
    case Guarantee::Effect::kAtLeastOnceSameResult:
      return "at least once, with the same result";
    case Guarantee::Effect::kAtLeastOnceSameKey:
      return "at least once, always with the same key";
    case Guarantee::Effect::kAtLeastOnce:
      return "at least once";
    case Guarantee::Effect::kUnknown:
      return "not promised";
  }
  return "unknown";
}

const char* to_string(Guarantee::Loss loss) noexcept {
  switch (loss) {
    case Guarantee::Loss::kNone:
      return "nothing is lost";
    case Guarantee::Loss::kWhatWasRead:
      return "what was read and not done is lost with the process";
    case Guarantee::Loss::kOnPowerLoss:
      return "the last writes are lost with the power";
    case Guarantee::Loss::kPossible:
      return "messages can be lost";
  }
  return "unknown";
}

}  // namespace semel

namespace semel::core {
namespace {

constexpr std::array<std::pair<StrategyKind, const char*>, 9> kStrategies = {{
    {StrategyKind::kNatural, "natural"},
    {StrategyKind::kQuery, "query"},
    {StrategyKind::kPessimisticLock, "pessimistic_lock"},
    {StrategyKind::kOptimisticLock, "optimistic_lock"},
    {StrategyKind::kDedupTable, "dedup_table"},
    {StrategyKind::kInbox, "inbox"},
    {StrategyKind::kStateMachine, "state_machine"},
    {StrategyKind::kFence, "fence"},
    {StrategyKind::kAtMostOnce, "at_most_once"},
}};

// A promise under construction. Facts lower it; nothing raises it.
class Promise {
 public:
  explicit Promise(const GuaranteeFacts& facts) : facts_(facts) { begin(); }

  Guarantee made() {
    lower_by_source();
    lower_by_store();
    lower_by_key();
    lower_by_retention();
    return std::move(promise_);
  }

 private:
  bool keeps_records() const noexcept {
    return facts_.strategy != StrategyKind::kNatural && facts_.strategy != StrategyKind::kQuery;
  }

  void promise(Guarantee::Name name, Guarantee::Effect effect, std::string faults) {
    promise_.name = name;
    promise_.effect = effect;
    promise_.faults = std::move(faults);
    promise_.until = "for ever";
  }
  void because(std::string reason) { promise_.reasons.push_back(std::move(reason)); }
  void lose(Guarantee::Loss loss) { promise_.loss = std::max(promise_.loss, loss); }
  // The record may be gone before the message was delivered for the last time.
  void may_repeat() {
    // A receiver that honours keys gets the same key again, with or without a record.
    if (!keeps_records() || promise_.name == Guarantee::Name::kKeyedRetry) return;
    promise_.name = Guarantee::Name::kAtLeastOnce;
    promise_.effect = Guarantee::Effect::kAtLeastOnce;
  }

  void begin() {
    switch (facts_.strategy) {
      case StrategyKind::kNatural:
        promise(Guarantee::Name::kIdempotent, Guarantee::Effect::kAtLeastOnceSameResult,
                "under every fault the operation may run again, and gives the same result");
        because("as declared: that repeating the operation changes nothing was not checked");
        return;
      case StrategyKind::kQuery:
        promise(Guarantee::Name::kNone, Guarantee::Effect::kUnknown,
                "none: two consumers, or a crash, between the look and the act double the effect");
        because("query looks and then acts: what happens in between is not seen");
        return;
      case StrategyKind::kPessimisticLock:
      case StrategyKind::kOptimisticLock:
      case StrategyKind::kDedupTable:
      case StrategyKind::kInbox:
        return transactional();
      case StrategyKind::kStateMachine:
        if (facts_.handler_transactional && facts_.store.durable) return transactional();
        return leased();
      case StrategyKind::kFence:
        leased();
        because(
            "the message is kept in the store before its call: what a crash left is finished "
            "without a redelivery");
        return;
      case StrategyKind::kAtMostOnce:
        return once_or_parked();
    }
  }

  void transactional() {
    promise(Guarantee::Name::kTransactional, Guarantee::Effect::kOnce,
            "consumers killed or paused anywhere, redeliveries, lost replies, store restarts: "
            "effect and record are one commit");
  }

  void once_or_parked() {
    promise(
        Guarantee::Name::kAtMostOnce, Guarantee::Effect::kAtMostOnce,
        "a crash, a pause longer than the lease or a lost reply parks the message for a person, "
        "who says whether it happened: semel records unlock --as done, retry or dead");
    because("a try whose outcome is not known is never repeated");
  }

  void of_steps() {
    if (!facts_.steps) return;
    const StepFacts& steps = *facts_.steps;
    promise_.faults += "; a step that is done is kept, and not called again";
    if (!steps.keyless.empty()) {
      because(
          fmt::format("not declared to honour keys: {}; such a step may be done twice where a "
                      "crash falls into it",
                      fmt::join(steps.keyless, ", ")));
    }
    if (!steps.without_undo.empty()) {
      because(
          fmt::format("without an undo: {}; when the message is given up such a step stays done",
                      fmt::join(steps.without_undo, ", ")));
    }
  }

  void leased() {
    outside();
    of_steps();
  }
  void outside() {
    if (facts_.honours_key) {
      keyed();
      return second_part();
    }
    promise(Guarantee::Name::kAtLeastOnce, Guarantee::Effect::kAtLeastOnce,
            "once while leases hold; a crash, or a pause longer than the lease, runs it again");
    because("the effect is outside the store: no commit holds it and its record together");
    second_part();
  }

  void second_part() {
    if (facts_.two_parts) promise_.faults += "; its second part commits with the record, once";
  }

  void keyed() {
    promise(Guarantee::Name::kKeyedRetry, Guarantee::Effect::kAtLeastOnceSameKey,
            "a crash, or a pause longer than the lease, calls the receiver again with the same "
            "key: one effect while it remembers the key");
    because("as declared: that the receiver honours the key was not checked");
    if (facts_.remote_keeps) {
      because(fmt::format("as declared: the receiver remembers a key for {}",
                          duration_text(*facts_.remote_keeps)));
    }
  }

  void lower_by_source() {
    if (facts_.source.replays) return;
    lose(Guarantee::Loss::kWhatWasRead);
    because(fmt::format(
        "{} cannot be read again: what was read and is not {} is lost with the process",
        facts_.source.name, facts_.strategy == StrategyKind::kFence ? "kept yet" : "done"));
  }

  void lower_by_store() {
    if (!facts_.store.durable) {
      may_repeat();
      lose(Guarantee::Loss::kPossible);
      because(
          fmt::format("the {} store is not durable: records, waiting retries and dead letters "
                      "are lost with the process",
                      facts_.store.name));
      if (keeps_records()) promise_.until = "until the process ends";
    }
    if (facts_.store.forgets && keeps_records()) {
      may_repeat();
      because(
          fmt::format("the {} store is bounded: it may forget a finished record before its "
                      "time",
                      facts_.store.name));
    }
    if (facts_.store.takes_back) lower_by_server();
  }
  void lower_by_server() {
    may_repeat();
    std::vector<std::string_view> then;
    if (keeps_records())
      then.emplace_back("what was completed in them is done again when it comes again");
    // One that evicts is given no messages.
    if (!facts_.store.forgets) {
      if (!facts_.server_was_asked) lose(Guarantee::Loss::kOnPowerLoss);
      then.emplace_back("a message that waits in the store is lost");
    }
    because(
        fmt::format("a crash or a failover of the {} server may forget its last writes: {}; semel "
                    "doctor tells what its settings risk",
                    facts_.store.name, fmt::join(then, ", and ")));
  }

  void lower_by_key() {
    if (!keeps_records()) return;
    if (facts_.key_is_position) {
      because(
          "the key is the position: it identifies a copy, so an event that was sent or written "
          "twice has two effects");
      promise_.faults += "; for each copy, not for each event";
      if (facts_.positions_return) {
        lose(Guarantee::Loss::kPossible);
        because(fmt::format("{} that was cut or begun anew has new messages at old positions: {}",
                            facts_.source.name == "file" ? "a file" : "a log",
                            facts_.fingerprint_none
                                ? "each is settled as a duplicate of the old one there"
                                : "one that says the same as the old one is settled as its "
                                  "duplicate, any other is a conflict"));
      }
    }
    if (facts_.key_may_be_body) {
      because(
          "a message without a key is known by its body: two events that say the same have one "
          "effect, and one that is sent again with another byte has two");
      promise_.faults += "; where the key is missing, for each body, not for each event";
    }
    if (facts_.fingerprint_none) {
      because(
          "no fingerprint is kept: another payload under a used key is settled as a duplicate, "
          "and not handled");
      promise_.faults += "; not for a key used again with another payload";
    }
  }

  void lower_by_retention() {
    if (!keeps_records() || !facts_.ttl) return;
    const std::string kept = duration_text(*facts_.ttl);
    if (facts_.store.durable) promise_.until = fmt::format("for {} after completion", kept);
    if (facts_.source.horizon && *facts_.ttl < *facts_.source.horizon) {
      may_repeat();
      because(fmt::format("records are kept for {}, and {} can redeliver for {}", kept,
                          facts_.source.name, duration_text(*facts_.source.horizon)));
    }
  }

  const GuaranteeFacts& facts_;
  Guarantee promise_;
};

}  // namespace

const char* to_string(StrategyKind kind) noexcept {
  for (const auto& [known, name] : kStrategies) {
    if (known == kind) return name;
  }
  return "unknown";
}

std::optional<StrategyKind> strategy_from(std::string_view name) noexcept {
  for (const auto& [kind, known] : kStrategies) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

bool commits_with_handler(StrategyKind kind) noexcept {
  switch (kind) {
    case StrategyKind::kPessimisticLock:
    case StrategyKind::kOptimisticLock:
    case StrategyKind::kDedupTable:
    case StrategyKind::kInbox:
      return true;
    case StrategyKind::kNatural:
    case StrategyKind::kQuery:
    case StrategyKind::kStateMachine:
    case StrategyKind::kFence:
    case StrategyKind::kAtMostOnce:
      break;
  }
  return false;
}

bool has_record(StrategyKind kind) noexcept {
  return kind != StrategyKind::kNatural && kind != StrategyKind::kQuery;
}

bool may_have_steps(StrategyKind kind) noexcept {
  return kind == StrategyKind::kStateMachine || kind == StrategyKind::kFence;
}

std::optional<std::string> refuse_steps(StrategyKind strategy) {
  if (may_have_steps(strategy)) return std::nullopt;
  if (strategy == StrategyKind::kAtMostOnce) {
    return "at_most_once never repeats a try, and steps are for those that come after; use fence "
           "or state_machine";
  }
  return fmt::format(
      "steps are journalled under a lease, and {} has none; use fence or state_machine",
      to_string(strategy));
}

Guarantee compute_guarantee(const GuaranteeFacts& facts) { return Promise(facts).made(); }

StrategyKind default_strategy(bool handler_transactional) noexcept {
  return handler_transactional ? StrategyKind::kDedupTable : StrategyKind::kStateMachine;
}

std::optional<std::string> refuse_combination(StrategyKind strategy, bool handler_transactional,
                                              bool store_transactional, bool unsafe) {
  if (handler_transactional && !store_transactional) {
    return "the handler's statements run in the store's transaction, and this store has none; use "
           "sqlite, postgres or mysql";
  }
  switch (strategy) {
    case StrategyKind::kNatural:
    case StrategyKind::kStateMachine:
      return std::nullopt;
    case StrategyKind::kFence:
      if (!handler_transactional) return std::nullopt;
      return "fence is for calls of other services, and this handler's effect is in the store's "
             "database; use dedup_table or inbox";
    case StrategyKind::kAtMostOnce:
      if (!handler_transactional) return std::nullopt;
      return "at_most_once is for effects that no commit can hold, and this handler's is in the "
             "store's database, where it happens once; use dedup_table or inbox";
    case StrategyKind::kQuery:
      if (unsafe) return std::nullopt;
      return "query looks and then acts, and doubles effects under concurrency; use dedup_table or "
             "inbox (effects in the store's database) or state_machine, or say unsafe: true";
    case StrategyKind::kPessimisticLock:
    case StrategyKind::kOptimisticLock:
    case StrategyKind::kDedupTable:
    case StrategyKind::kInbox:
      if (handler_transactional) return std::nullopt;
      return fmt::format(
          "{} commits the record together with the handler's statements, and this handler has none "
          "in the store's database; use state_machine or natural",
          to_string(strategy));
  }
  return std::nullopt;
}

std::optional<std::string> refuse_two_parts(StrategyKind strategy, bool call_transactional,
                                            bool store_transactional) {
  if (call_transactional) return "the first of two parts acts outside of the store";
  if (!store_transactional) {
    return "the second of two parts needs a store with transactions, as sqlite, postgres and mysql "
           "are";
  }
  if (strategy != StrategyKind::kStateMachine && strategy != StrategyKind::kFence) {
    return fmt::format("work in two parts is done by state_machine or fence, not by {}",
                       to_string(strategy));
  }
  return std::nullopt;
}

}  // namespace semel::core
