// Slot: one message on its way through the pipeline's transactions.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <semel/outcome.h>
#include <semel/spi/delivery.h>
#include <semel/spi/finish.h>
#include <semel/spi/recorded_statement.h>

#include "core/tracked_delivery.h"
#include "strategies/decision.h"
#include "strategies/endings.h"

namespace semel::strategies {

struct Slot {
  core::TrackedDelivery* delivery = nullptr;

  // What outlives a transaction that was undone.
  StatementList list;
  std::optional<Decision> decision;  // none: the handler has not run, or must run again
  bool reads = false;                // its decision dies with the transaction it was made in
  bool failed = false;               // by an error of its own statements: nothing of it is sent
  // Given back: its consumer is paused, for no message can succeed, or it waited too long for what
  // somebody else has locked.
  bool withheld = false;
  std::optional<Error> blocked;       // of the latter
  std::chrono::milliseconds wait{0};  // before it comes again, then
  std::set<LockName> looks;           // rows that were blocked, and are looked at by it
  // Of a commit whose answer was lost: what it would have made true.
  struct Doubt {
    Finish::To to;
    Outcome outcome;
  };
  std::optional<Doubt> doubt;
  // Its transaction failed with nobody else in it: constraints are checked before the commit.
  bool checked = false;
  // It is recorded as failed for an error that named no statement of it.
  bool blamed = false;
  // The message without the payload that the store does not take; what is recorded instead of it.
  std::unique_ptr<core::TrackedDelivery> unkept;
  std::string why_unkept;

  const core::TrackedDelivery& recorded() const noexcept { return unkept ? *unkept : *delivery; }

  // Of the current transaction.
  bool acquired = false;
  bool returned = false;  // its claim is given back in the same transaction; `outcome` is set
  bool lost = false;      // its claim was committed before, and is no longer its own
  bool left = false;      // behind one of its key that is given back, and has ended
  Right right;
  std::optional<Decision> missed;  // a declared miss: it ends so instead
  Outcome outcome;
  Finish::To planned = Finish::To::kAckOnly;

  // A new transaction begins.
  void begin_again(bool forget_decision) {
    acquired = returned = lost = false;
    missed.reset();
    if (!forget_decision || failed) return;
    decision.reset();
    list.clear();
    reads = false;
  }
};

}  // namespace semel::strategies
