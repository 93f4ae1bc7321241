// StepRun: one attempt at a message whose store keeps a journal of steps.
//
// Calls its handler with the journal; or, if the message was given up before, undoes its finished
// steps in reverse. Each undo is journalled, so that another process can continue from there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/spi/step_store.h>
#include <semel/steps.h>

#include "strategies/calls.h"
#include "strategies/decision.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// Whether some step of the consumer has an undo.
bool undoes(const Context& context) noexcept;
// The journal's store for a call; null: it has none.
StepStore* journal_of(const Context& context, const ClaimInfo& claim_info);

class StepRun final : public Steps {
 public:
  // All borrowed. `watch`: null where there is none; `lease`: the call's number in it.
  StepRun(const Context& context, StepStore& store, const Call& call, HandlerMonitor::Watch* watch,
          std::size_t lease)
      : context_(context), store_(store), call_(call), watch_(watch), lease_(lease) {}

  // The caller has begun the handler at the watch, and must end it there.
  Decision run(Attempt attempt);

  Begun begin(std::string_view name, BytesView id, BytesView input) override;
  void finish(std::string_view name, BytesView id, BytesView input, BytesView result) override;

 private:
  [[noreturn]] void over(Decision decision);
  bool may_be_giving_up() const;
  // nullopt: the journal is loaded.
  std::optional<Decision> load();
  StepEntry* find(std::string_view name, BytesView id);
  const StepSpec* spec_of(std::string_view name) const;
  void check_name(std::string_view name, BytesView id);
  Fingerprint input_of(BytesView input) const;
  std::optional<Decision> keep(const StepEntry& entry);

  std::optional<Decision> names_without_code() const;
  std::optional<Decision> steps_without_call() const;

  Decision undo_all();
  // nullopt: the step is undone.
  std::optional<Decision> undo(StepEntry& entry, const UndoHandler& handler);
  Decision later(Decision trouble) const;
  Verdict call_undo(const StepEntry& entry, const UndoHandler& handler) const;
  Decision undo_failed(const StepEntry& entry, const Verdict& verdict);
  std::string still_done() const;

  const Context& context_;
  StepStore& store_;
  const Call& call_;
  HandlerMonitor::Watch* const watch_;
  const std::size_t lease_;
  Attempt attempt_;
  std::optional<StepJournal> journal_;
  std::vector<std::string> met_;  // names of the steps that this attempt reached, for people
  std::optional<Decision> over_;
};

// For a handler that cannot have steps: parks a message whose journal shows that a handler with
// steps began it. nullopt: it may be handled.
std::optional<Decision> refuse_journalled(const Context& context, const Call& call);

}  // namespace semel::strategies
