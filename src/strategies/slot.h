// Slot: one message in the pipeline's transactions.
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
#include "strategies/resolver.h"

namespace semel::strategies {

struct Slot {
  core::TrackedDelivery* delivery = nullptr;

  // Survives a transaction that was undone.
  StatementList list;
  std::optional<Decision> decision;  // nullopt: the handler has not run, or must run again
  bool reads = false;                // its decision is void when its transaction is undone
  bool failed = false;               // by an error of its own statements: none of them is sent
  // Given back: its consumer is paused because no message can succeed, or it waited too long for a
  // row that another program has locked.
  bool withheld = false;
  std::optional<Error> blocked;       // the reason in the second case
  std::chrono::milliseconds wait{0};  // how long before it comes again
  std::set<LockName> looks;           // blocked rows that this message looks at
  // A commit whose answer was lost: what it would have recorded.
  struct Doubt {
    Finish::To to;
    Outcome outcome;
  };
  std::optional<Doubt> doubt;
  // Its transaction failed with no other message in it: constraints are checked before the commit.
  bool checked = false;
  // It is recorded as failed for an error that named none of its statements.
  bool blamed = false;
  // The message without the payload that the store refuses; recorded in its place.
  std::unique_ptr<core::TrackedDelivery> unkept;
  std::string why_unkept;

  const core::TrackedDelivery& recorded() const noexcept { return unkept ? *unkept : *delivery; }

  // Valid for the current transaction.
  bool acquired = false;
  bool returned = false;  // its claim is given back in the same transaction; `outcome` is set
  bool lost = false;      // its claim was committed before, and another holder has it now
  bool left = false;      // behind one of its key that is given back, and has ended
  ClaimInfo claim_info;
  std::optional<Decision> missed;  // a declared miss, which replaces the decision
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
