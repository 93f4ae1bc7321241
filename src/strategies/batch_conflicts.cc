// BatchRun's part with conflicts: how many of the consumer's transactions run beside this one.
#include <chrono>
#include <optional>
#include <utility>

#include "core/outdated_statement.h"
#include "strategies/batch_run.h"

namespace semel::strategies {

// A store with one writer keeps transactions apart by itself. A borrowed connection is in its
// owner's transaction, whose end is not known here.
bool BatchRun::in_turn() const {
  return !stranger_ && !options_.always_rerun && !context_.store->traits().single_writer;
}

BatchRun::Went BatchRun::transact_in_turn() {
  was_alone_ = false;
  if (!in_turn()) return transact();
  Clock& clock = *context_.environment->clock;
  const auto asked = clock.now();
  sink_.waits(true);
  TransactionLimit::Place place = habits_.limit.enter();
  sink_.waits(false);
  const auto began = clock.now();
  waited_ += began - asked;
  was_alone_ = place.alone();
  place_ = &place;
  const bool again = conflicted_;
  const Went went = transact();
  place_ = nullptr;
  const auto took = clock.now() - began;
  if (went == Went::kWell) {
    place.went_well(took);
    if (again) place.confirms_deadlock();
  } else if (went == Went::kFailed) {
    waited_ += took;
  }
  return went;
}

void BatchRun::choose_company(UnitOptions& options) const {
  if (place_ == nullptr) return;
  options.group = habits_.group;
  options.alone = place_->alone();
  // A window of one message waits as it always does: its deadlock is the server's to find.
  if (window_.size() > 1 || options.alone) options.row_patience = habits_.limit.row_patience();
}

// After a conflict with another transaction. True: the same window is tried again, alone.
bool BatchRun::goes_alone() {
  const bool blocked = error_.kind == ErrorKind::kBlocked;
  if (!in_turn() || at_begin_ || (!blocked && error_.kind != ErrorKind::kRetryTransaction)) {
    return false;
  }
  if (error_.code == core::kOutdatedStatement) return false;
  const bool entered = !claims_.empty();
  if (was_alone_ && blocked && !entered) {
    habits_.limit.cannot_be_alone();
    return true;
  }
  if (was_alone_ && blocked) {
    habits_.limit.met_stranger();
    stranger_ = true;
    return false;
  }
  // Before its statements it had locked nothing that others need; and a window of one that was
  // blocked has waited longer than a deadlock lasts.
  if (!sent_ || (blocked && window_.size() == 1)) return false;
  using Conflict = TransactionLimit::Conflict;
  habits_.limit.met(blocked ? Conflict::kLongWait : Conflict::kDeadlock);
  return !std::exchange(conflicted_, true);
}

// Before the window's messages end: the sink may be gone with the last of them.
void BatchRun::leave_window() {
  conflicted_ = false;
  const bool disturbed = place_ != nullptr && place_->disturbed();
  if (disturbed) {
    sink_.waited(std::nullopt);
  } else if (waited_.count() > 0) {
    sink_.waited(waited_);
  }
  waited_ = std::chrono::nanoseconds{0};
}

}  // namespace semel::strategies
