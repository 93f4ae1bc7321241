#include <algorithm>
#include <system_error>
#include <utility>

#include <semel/reason.h>

#include "core/comes_again.h"
#include "core/failpoints.h"
#include "engine/dry_run.h"
#include "engine/running_engine.h"
#include "system/mutex.h"

namespace semel::engine {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kDrainSaysItFirst{200};

// True if the handler ran and returned, which shows that the message does not crash the process.
// With kBusy the process that died may still hold the key; while the store is unavailable, nothing
// begins.
bool tried(const Outcome& outcome) {
  return outcome.kind != Outcome::Kind::kBusy && outcome.reason != reason::kStoreUnavailable &&
         outcome.settle != Outcome::Settle::kRelease && outcome.settle != Outcome::Settle::kKeep;
}

}  // namespace

RunningEngine::Running::Running(RunningEngine& owner, std::vector<core::TrackedDelivery> deliveries)
    : engine(owner),
      batch(std::move(deliveries)),
      suspect(batch.front().arrival.suspect),
      trial(batch.front().trial),
      began(owner.now()),
      progress(began),
      open(batch.size() + 1),
      sink(
          [this](core::TrackedDelivery& d, Outcome& o) {
            const TimePoint ended = engine.now();
            progress.store(ended, std::memory_order_relaxed);
            if (suspect && !tried(o)) {
              const system::MutexLock lock(untried_mutex);
              untried.insert(d.message.key().id);
            }
            const PendingSettlement pending = engine.pending_of(d, o, began, ended);
            if (pending.left) left.store(true, std::memory_order_relaxed);
            return pending;
          },
          [this] { engine.one_less(*this); }) {}

void RunningEngine::work() {
  for (;;) {
    std::vector<core::TrackedDelivery> batch = in_flight_.take(true);
    if (batch.empty()) return;
    process(std::move(batch));
  }
}

void RunningEngine::process_as_receiver(std::vector<core::TrackedDelivery> batch) {
  {
    const system::MutexLock lock(receiver_mutex_);
    receiver_in_batch_ = true;
  }
  process(std::move(batch));
  const system::MutexLock lock(receiver_mutex_);
  receiver_in_batch_ = false;
}

void RunningEngine::process(std::vector<core::TrackedDelivery> batch) {
  if (options_.dry_run) {
    would_process(std::move(batch));
    return;
  }
  auto made = std::make_unique<Running>(*this, std::move(batch));
  Running& running = *made;
  const TimePoint began = running.progress.load(std::memory_order_relaxed);
  {
    const system::MutexLock lock(running_mutex_);
    running_.push_back(std::move(made));
  }
  if (running.suspect) {
    process_suspects(running);
  } else {
    strategy_->process(running.batch, running.sink);
    running.took = now() - began;
  }
  if (in_flight_.returned()) wake_receiver();
  one_less(running);
}

void RunningEngine::one_less(Running& running) {
  std::size_t before = 0;
  if (running.suspect) {
    // The thread that handles suspects waits for this. Notify with the lock held: once it is
    // released, the batch may be destroyed.
    const system::MutexLock lock(running_mutex_);
    before = running.open.fetch_sub(1, std::memory_order_acq_rel);
    suspect_ended_.notify_all();
  } else {
    before = running.open.fetch_sub(1, std::memory_order_acq_rel);
  }
  if (before == 1) end_batch(running);
}

void RunningEngine::land_rest(Running& running) {
  std::vector<PendingSettlement> pending_settlements;
  running.sink.collect_all(pending_settlements);
  if (!pending_settlements.empty()) land(pending_settlements);
}

void RunningEngine::end_batch(Running& running) {
  if (running.left.load(std::memory_order_relaxed)) {
    // A flush may still hold followers that were left. Wait for it: the message ahead of them must
    // be settled after them.
    const system::MutexLock flushing(flush_mutex_);
    land_rest(running);
  } else {
    land_rest(running);
  }
  std::unique_ptr<Running> ended;
  {
    // A flushing thread may hold settlements of this batch.
    const system::MutexLock flushing(flush_mutex_);
    const system::MutexLock lock(running_mutex_);
    const auto at = std::find_if(running_.begin(), running_.end(),
                                 [&](const auto& one) { return one.get() == &running; });
    ended = std::move(*at);
    running_.erase(at);
  }
  const auto took = ended->took ? ended->sink.own_time(*ended->took) : std::nullopt;
  if (in_flight_.ran(ended->batch.size(), ended->suspect, ended->trial, took)) wake_receiver();
  const system::MutexLock lock(still_mutex_);
  go_on();
}

void RunningEngine::would_process(std::vector<core::TrackedDelivery> batch) {
  for (core::TrackedDelivery& delivery : batch) {
    parts_.observer->on_ended(options_.consumer, delivery,
                              would_become(*parts_.store, delivery, options_.age_gate.get()),
                              now() - delivery.arrival.received);
  }
  std::vector<PendingSettlement> pending_settlements;
  pending_settlements.reserve(batch.size());
  for (const core::TrackedDelivery& delivery : batch) {
    pending_settlements.push_back(PendingSettlement::of(delivery, Settlement::Kind::kRelease));
  }
  const bool landed = in_flight_.land(pending_settlements, now());
  in_flight_.returned();
  const bool ran = in_flight_.ran(batch.size(), batch.front().arrival.suspect, batch.front().trial,
                                  std::chrono::nanoseconds{0});
  if (landed || ran) wake_receiver();
}

PendingSettlement RunningEngine::pending_of(core::TrackedDelivery& delivery, Outcome& outcome,
                                            TimePoint began, TimePoint ended) {
  // A delivery that is kept was not tried, so it has not ended.
  const bool kept = outcome.settle == Outcome::Settle::kKeep;
  if (!kept) {
    parts_.observer->on_ended(options_.consumer, delivery, outcome,
                              ended - delivery.arrival.received);
    sources_.ended(delivery.arrival.source, delivery.arrival.tag, outcome);
  }
  // An answer from the front window says nothing about the store.
  if (!kept && outcome.reason != reason::kFront) note_store(outcome, began);
  PendingSettlement pending = PendingSettlement::of(delivery, Settlement::Kind::kAck);
  pending.settlement.delay = outcome.delay;
  pending.again = core::comes_again(outcome);
  pending.answered = delivery.answered;
  pending.still_suspect = delivery.arrival.suspect && !tried(outcome);
  // The next run must know about this suspect.
  if (pending.still_suspect && (stopping() || has_ended())) suspects_left_ = true;
  if (delivery.arrival.line) pending.line = *delivery.arrival.line;
  // If released, the message would come back behind others of its ordering group.
  const bool in_line = delivery.arrival.line && !delivery.arrival.row;
  // If released, an untried suspect would come back unmarked. Only a row that is shown again at
  // once keeps the mark.
  const bool still_here = pending.still_suspect && !delivery.arrival.row;
  switch (outcome.settle) {
    case Outcome::Settle::kAck:
      break;
    case Outcome::Settle::kAcked:
      pending.settlement.kind = Settlement::Kind::kGone;
      break;
    case Outcome::Settle::kRelease:
      pending.settlement.kind = Settlement::Kind::kRelease;
      if ((in_line || still_here) && !stopping()) pending.keep = &delivery;
      break;
    case Outcome::Settle::kKeep:
      pending.left = delivery.follows;
      pending.settlement.kind =
          pending.left ? Settlement::Kind::kRelease : Settlement::Kind::kLater;
      pending.waits_for = std::exchange(delivery.waits_for, 0);
      if (!stopping()) pending.keep = &delivery;
      break;
    case Outcome::Settle::kLater:
      pending.settlement.kind = Settlement::Kind::kLater;
      if (in_line || !sources_.traits(pending.source).redelivers || pending.still_suspect) {
        pending.keep = &delivery;
      }
      break;
  }
  return pending;
}

void RunningEngine::land(std::vector<PendingSettlement>& pending_settlements) {
  failpoint::hit(*parts_.environment, failpoint::kSettleBefore);
  sources_.settle(pending_settlements);
  failpoint::hit(*parts_.environment, failpoint::kSettleAfter);
  if (in_flight_.land(pending_settlements, now())) wake_receiver();
}

void RunningEngine::tick(std::size_t hanging) {
  flush_running();
  // While it stands still, it keeps nothing from others.
  if (!stands_still(hanging)) sources_.extend(rows_that_hang());
  if (!stopping()) return;
  // The receiving thread cannot drain while it runs a handler.
  sources_.end_intake();
  const TimePoint at = now();
  if (!stopping_since_) stopping_since_ = at;
  if (!hurried_since_ && (stops_.load() > 1 || at - *stopping_since_ >= options_.drain_timeout)) {
    hurried_since_ = at;
  }
  if (!hurried_since_) return;
  renewer_.stop_all();
  // If the handler runs on the receiving thread, that thread can neither drain nor report the hang.
  if (at - *hurried_since_ < options_.grace + kDrainSaysItFirst) return;
  if (!process_goes_on()) return parts_.hung(kHandlerHangs);
  if (!leaves_aside_) leave_aside();
  // Count the drain timeout and the grace again from now.
  stopping_since_ = at;
  hurried_since_.reset();
}

// Runs on a thread of its own, because sources may take long to close and the calling thread must
// go on renewing leases.
void RunningEngine::leave_aside() {
  const system::MutexLock lock(receiver_mutex_);
  if (!receiver_in_batch_) return;
  try {
    leaving_ = std::thread([this] {
      // While this lock is held, the receiving thread cannot return. If it has already left its
      // batch, it drains, and detects the hang itself.
      const system::MutexLock in_batch(receiver_mutex_);
      if (receiver_in_batch_) leave_to_others();
    });
    leaves_aside_ = true;
  } catch (const std::system_error&) {
    // No thread could be started: try again after another full wait.
  }
}

// Flushes all batches together: calls that end at about the same time belong to many batches.
void RunningEngine::flush_running() {
  const system::MutexLock flushing(flush_mutex_);
  std::vector<PendingSettlement> pending_settlements;
  {
    const system::MutexLock lock(running_mutex_);
    for (const auto& running : running_) running->sink.collect(pending_settlements);
  }
  if (!pending_settlements.empty()) land(pending_settlements);
}

}  // namespace semel::engine
