// StepRun: one try of a message whose store keeps a journal of steps.
//
// Its handler is called, with the journal at hand; or, where the message was given up before, the
// undos of what its steps did, in reverse. Each undo is journalled, so that whoever takes over goes
// on where this one was.
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

// Some step of the consumer has an undo.
bool undoes(const Context& context) noexcept;
// Where the journal of a call is; null: it has none.
StepStore* journal_of(const Context& context, const Right& right);

class StepRun final : public Steps {
 public:
  // All borrowed. `watch`: null where there is none; `lease`: the call's number in it.
  StepRun(const Context& context, StepStore& store, const Call& call, Keeper::Watch* watch,
          std::size_t lease)
      : context_(context), store_(store), call_(call), watch_(watch), lease_(lease) {}

  // Its handler has begun by the watch's count; its end is the caller's to tell.
  Decision run(Attempt attempt);

  Begun begin(std::string_view name, BytesView id, BytesView input) override;
  void finish(std::string_view name, BytesView id, BytesView input, BytesView result) override;

 private:
  [[noreturn]] void over(Decision decision);
  bool may_be_giving_up() const;
  // Nothing: it is there.
  std::optional<Decision> load();
  StepEntry* find(std::string_view name, BytesView id);
  const StepSpec* spec_of(std::string_view name) const;
  void check_name(std::string_view name, BytesView id) const;
  Fingerprint input_of(BytesView input) const;
  std::optional<Decision> keep(const StepEntry& entry);

  std::optional<Decision> names_without_code() const;
  std::optional<Decision> steps_without_call() const;

  Decision undo_all();
  // Nothing: it is undone.
  std::optional<Decision> undo(StepEntry& entry, const UndoHandler& handler);
  Verdict call_undo(const StepEntry& entry, const UndoHandler& handler) const;
  Decision undo_failed(const StepEntry& entry, const Verdict& verdict);
  std::string still_done() const;

  const Context& context_;
  StepStore& store_;
  const Call& call_;
  Keeper::Watch* const watch_;
  const std::size_t lease_;
  Attempt attempt_;
  std::optional<StepJournal> journal_;
  std::vector<std::string> met_;  // names of steps, as people read them, that this try came to
  std::optional<Decision> over_;
};

// For a handler that cannot have steps: a journal says that its message was begun by one that had.
// Such a message is parked; nothing: it may be handled.
std::optional<Decision> refuse_journalled(const Context& context, const Call& call);

}  // namespace semel::strategies
