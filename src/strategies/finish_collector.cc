#include "strategies/finish_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include <semel/reason.h>

#include "core/dead_letter_copy.h"
#include "core/unkept_payload.h"
#include "strategies/backoff.h"
#include "strategies/writer_share.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

// How long outcomes are collected, counted from the last report. A handler that took this long by
// itself therefore does not wait for the next one.
constexpr milliseconds kLinger{3};
// How long a finish is retried while its store is unavailable, where its caller waits for the
// answer or the consumer drains. The effect has happened, and only a finish prevents a second one:
// a consumer that goes on retries for a whole lease, for nobody can take the key over before.
constexpr milliseconds kPatience{10'000};
constexpr milliseconds kFirstFinishWait{2};
constexpr milliseconds kLongestFinishWait{500};

// A delivery that its source is to acknowledge may be acknowledged by the store, with the record.
void name_settled(const core::TrackedDelivery& delivery, const Outcome& outcome, Finish& finish) {
  const bool settled = outcome.settle == Outcome::Settle::kAck && delivery.arrival.entry;
  finish.settles = settled ? &delivery.arrival : nullptr;
}

void note_settled(Applied applied, Outcome& outcome) {
  if (applied == Applied::kYesSettled) outcome.settle = Outcome::Settle::kAcked;
}

bool is_final(const Error& error) {
  return error.kind == ErrorKind::kRejected || error.kind == ErrorKind::kLimit;
}

}  // namespace

void FinishCollector::add(core::TrackedDelivery& delivery, Resolution resolution,
                          std::optional<std::size_t> lease) {
  const system::MutexLock lock(mutex_);
  collect(std::move(resolution),
          {&delivery, {}, &sink_, lease ? watch_ : nullptr, lease.value_or(0)});
}

void FinishCollector::add(core::TrackedDelivery& delivery, Resolution resolution, OutcomeSink& sink,
                          HandlerMonitor::Watch* watch, std::size_t lease) {
  const system::MutexLock lock(mutex_);
  collect(std::move(resolution), {&delivery, {}, &sink, watch, lease});
}

void FinishCollector::collect(Resolution&& resolution, Item item) {
  if (!resolution.finish) {
    item.lease_ended();
    item.sink->ended(*item.delivery, std::move(resolution.outcome));
    return;
  }
  item.outcome = std::move(resolution.outcome);
  name_settled(*item.delivery, item.outcome, *resolution.finish);
  finishes_.push_back(*std::move(resolution.finish));
  items_.push_back(std::move(item));
}

bool FinishCollector::due() const {
  return !items_.empty() && context_.environment->clock->now() - told_at_ >= kLinger;
}

void FinishCollector::handlers_begin() {
  const system::MutexLock lock(mutex_);
  told_at_ = context_.environment->clock->now();
  batch_waits_ = true;
}

void FinishCollector::flush_if_due() {
  const system::MutexLock lock(mutex_);
  if (due()) tell(true);
}

void FinishCollector::flush_beside_handler() noexcept {
  if (!mutex_.try_lock()) return;
  const system::MutexLock lock(mutex_, std::adopt_lock);
  if (!due()) return;
  const bool waits = std::exchange(batch_waits_, false);
  tell(false);
  batch_waits_ = waits;
}

void FinishCollector::flush() {
  const system::MutexLock lock(mutex_);
  tell(true);
}

void FinishCollector::flush_or_give_back() {
  const system::MutexLock lock(mutex_);
  if (items_.empty()) return;
  if (!try_tell(0, items_.size())) give_back(0, items_.size());
  clear();
}

bool FinishCollector::hurries() const {
  if (!context_.hold) return true;  // a Guard's caller waits
  const bool leased =
      std::ranges::any_of(finishes_, [](const Finish& finish) { return finish.lease.has_value(); });
  return !leased || std::ranges::any_of(items_, [](const Item& item) {
    return item.watch != nullptr && item.watch->draining();
  });
}

void FinishCollector::tell(bool patient) {
  if (items_.empty()) return;
  Clock& clock = *context_.environment->clock;
  const milliseconds lease = context_.claim.lease;
  const auto began = clock.now();
  Backoff backoff(*context_.environment->random, kFirstFinishWait, kLongestFinishWait);
  while (!try_tell(0, items_.size())) {
    if (is_final(error_)) {
      // One finish is refused: write each by itself, so that the others are not affected.
      for (std::size_t i = 0; i < items_.size(); ++i) {
        if (try_tell(i, 1)) continue;
        const bool smaller = error_.kind == ErrorKind::kLimit && leave_out_payload(i);
        if (!smaller || !try_tell(i, 1)) give_back(i, 1);
      }
      break;
    }
    if (!patient) return;
    const milliseconds patience = hurries() ? std::min(lease, kPatience) : lease;
    if (backoff.waited() >= patience || clock.now() - began >= patience) {
      give_back(0, items_.size());
      break;
    }
    backoff.wait();
  }
  clear();
}

bool FinishCollector::try_tell(std::size_t first, std::size_t count) {
  WriterShare::Call call(context_.writer_share.get());
  auto applied = context_.store->finish(std::span(finishes_).subspan(first, count));
  const auto waited = call.end();
  if (batch_waits_) sink_.waited(waited);
  if (!applied) {
    error_ = std::move(applied.error());
    in_doubt_ = in_doubt_ || error_.kind == ErrorKind::kInDoubt;
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) end(first + i, (*applied)[i]);
  return true;
}

void FinishCollector::end(std::size_t at, Applied applied) {
  Item& item = items_[at];
  item.lease_ended();
  if (applied == Applied::kLeaseLost) {
    if (in_doubt_) return resolve(at);
    if (context_.observer != nullptr) {
      context_.observer->on_lease_lost(context_.consumer, *item.delivery);
    }
    // A message that was not started is free for other workers anyway.
    if (finishes_[at].to != Finish::To::kNotStarted) {
      item.outcome = lease_lost(item.outcome.attempt);
    }
  }
  note_settled(applied, item.outcome);
  item.sink->ended(*item.delivery, std::move(item.outcome));
}

void FinishCollector::resolve(std::size_t at) {
  Item& item = items_[at];
  Finish& finish = finishes_[at];
  const Message* const message = &item.delivery->message;
  const auto claims = context_.store->claim({&message, 1}, context_.claim);
  bool ours = claims && came_true(finish.to, finish.keep != nullptr, claims->front());
  if (const auto* const acquired = claims ? std::get_if<Acquired>(&claims->front()) : nullptr) {
    // No other holder has it: record this holder's result under the new lease. A retry may be
    // recorded already, and due. Nothing tells that from a record that was lost or given back, so
    // it is written once more, and its attempt counts once.
    const bool counted_before = acquired->attempt > finish.attempts;
    if (finish.to == Finish::To::kRetrying && counted_before) finish.counted = false;
    finish.lease = acquired->lease;
    const auto applied = context_.store->finish({&finish, 1});
    ours = applied && applied->front() != Applied::kLeaseLost;
    if (ours) note_settled(applied->front(), item.outcome);
  }
  if (!ours) item.outcome = lease_lost(item.outcome.attempt);
  item.sink->ended(*item.delivery, std::move(item.outcome));
}

// The store will never accept the message as it is, so a dead letter without the payload records
// it. False if nothing was to be kept.
bool FinishCollector::leave_out_payload(std::size_t at) {
  Item& item = items_[at];
  Finish& finish = finishes_[at];
  const bool without_record = !finish.lease && finish.to == Finish::To::kCompleted;
  if (!context_.hold || without_record || finish.to == Finish::To::kNotStarted ||
      finish.to == Finish::To::kAckOnly) {
    return false;
  }
  const Message& message = item.delivery->message;
  item.unkept = std::make_unique<Message>(core::without_payload(message));
  const bool was_done = finish.to == Finish::To::kCompleted;
  const bool copied = context_.copies_to.has_value();
  const std::string why = core::unkept_text(message.payload().size(), error_.message);
  finish.error = finish.error.empty() ? why : fmt::format("{}; {}", finish.error, why);
  if (finish.reason.empty()) finish.reason = reason::kTooLarge;
  finish.unknown = finish.unknown || was_done;
  finish.to = Finish::To::kDead;
  finish.keep = item.unkept.get();
  finish.result.clear();
  finish.outgoing.clear();
  finish.giving_up.reset();
  if (copied) {
    finish.outgoing.push_back(
        core::dead_letter_copy(*context_.copies_to, context_.consumer, finish));
  }
  finish.ack = item.delivery->arrival.row;
  item.outcome.kind = Outcome::Kind::kDead;
  item.outcome.settle = finish.ack ? Outcome::Settle::kAcked : Outcome::Settle::kAck;
  item.outcome.reason = finish.reason;
  item.outcome.error = finish.error;
  item.outcome.result.clear();
  name_settled(*item.delivery, item.outcome, finish);
  return true;
}

void FinishCollector::give_back(std::size_t first, std::size_t count) {
  given_back_for_ = error_;
  for (std::size_t i = first; i < first + count; ++i) {
    Item& item = items_[i];
    item.lease_ended();
    Outcome outcome = store_away(error_);
    outcome.attempt = item.outcome.attempt;
    item.sink->ended(*item.delivery, std::move(outcome));
  }
}

void FinishCollector::clear() {
  finishes_.clear();
  items_.clear();
  in_doubt_ = false;
  told_at_ = context_.environment->clock->now();
}

}  // namespace semel::strategies
