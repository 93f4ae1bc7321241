#include "engine/in_flight_deliveries.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace semel::engine {

namespace {

// Below this a hop to another thread costs more than it gains.
constexpr std::size_t kCrowd = 16;
constexpr std::size_t kManyLines = 1024;
// A fraction of all slots: fewer free slots are not worth a wake-up each, because a thread that is
// woken immediately takes one slot and sleeps again.
constexpr std::size_t kShare = 32;

std::size_t weight(const core::TrackedDelivery& delivery) {
  return delivery.message.payload().size();
}

}  // namespace

void InFlightDeliveries::allow_followers(bool allowed) {
  const system::MutexLock lock(mutex_);
  followers_ = allowed;
}

InFlightDeliveries::Capacity InFlightDeliveries::capacity() const {
  const system::MutexLock lock(mutex_);
  if (stands_still_ || !has_room()) return {0, 0};
  return {limits_.messages - messages_ - refused_, limits_.bytes - bytes_};
}

bool InFlightDeliveries::has_room() const {
  const std::size_t have = messages_ + refused_;
  if (have >= limits_.messages || bytes_ >= limits_.bytes) return false;
  // Asking a store or a broker for a few costs as much as asking for many.
  const std::size_t batch = batch_size_.limit();
  return limits_.messages - have >= batch || sequencer_.waiting() < 2 * batch;
}

void InFlightDeliveries::add(std::vector<core::TrackedDelivery> deliveries) {
  if (deliveries.empty()) return;
  const system::MutexLock lock(mutex_);
  for (core::TrackedDelivery& delivery : deliveries) {
    if (may_run_now(delivery) && (!asks_first(delivery.arrival) || continues(delivery))) {
      add_locked(std::move(delivery));
    } else {
      (delivery.arrival.row ? aside_.rows : aside_.followers).push_back(std::move(delivery));
    }
  }
  call_workers();
}

bool InFlightDeliveries::may_run_now(const core::TrackedDelivery& delivery) const {
  const Arrival& arrival = delivery.arrival;
  if (lines_.defers && !arrival.row) return false;
  if (!arrival.line || lines_.on_failure == OnFailure::kSkip) return true;
  return arrival.row ? book_.fresh(*arrival.line, delivery.question)
                     : !book_.may_wait(*arrival.line) || continues(delivery);
}

// Older messages of its key from the same assignment are in hand. One of them may have failed: its
// row is in the store before it lands here. This delivery must not be stored behind that row before
// the messages between the two.
bool InFlightDeliveries::continues(const core::TrackedDelivery& delivery) const {
  return lines_.on_failure == OnFailure::kHoldKey && !lines_.shared &&
         sequencer_.continues(delivery, lines_.taken_over);
}

// Another process may have stopped a line that the book does not have, since this one asked for
// all.
bool InFlightDeliveries::asks_first(const Arrival& arrival) const {
  const bool may_be_stopped = lines_.shared || forgotten_;
  return may_be_stopped && lines_.on_failure != OnFailure::kSkip && arrival.line && !arrival.row;
}

void InFlightDeliveries::add_locked(core::TrackedDelivery&& delivery) {
  ++messages_;
  bytes_ += weight(delivery);
  if (delivery.arrival.suspect) ++suspects_;
  sequencer_.add(std::move(delivery));
}

void InFlightDeliveries::add_refused() {
  const system::MutexLock lock(mutex_);
  ++refused_;
}

void InFlightDeliveries::drop_refused(std::size_t count) {
  const system::MutexLock lock(mutex_);
  refused_ -= count;
}

bool InFlightDeliveries::crowded_locked() const {
  return sequencer_.waiting() >= std::max(batch_size_.limit(), kCrowd);
}

bool InFlightDeliveries::crowded() const {
  const system::MutexLock lock(mutex_);
  return crowded_locked();
}

// Waking a worker for every batch would cost more than settling the batch does. A smaller number is
// left to the receiver.
bool InFlightDeliveries::thin() const {
  return sequencer_.waiting() <= limits_.messages / 2 || (workers_ == 0 && !crowded_locked());
}

void InFlightDeliveries::call_workers() {
  if (workers_ > 0) {
    waited_for_ = false;
    ready_.notify_all();
  } else if (crowded_locked() && may_take(admission())) {
    waited_for_ = false;
    ready_.notify_one();
  }
}

std::size_t InFlightDeliveries::may_run() const {
  const std::size_t running = sequencer_.running() - answered_;
  if (limits_.running == 0) return std::numeric_limits<std::size_t>::max();
  return limits_.running - std::min(limits_.running, running);
}

ConsumerGate::Admission InFlightDeliveries::admission() const {
  return gate_ == nullptr ? ConsumerGate::Admission::kAll : gate_->admission();
}

bool InFlightDeliveries::may_take(ConsumerGate::Admission admitted) const {
  if (closed_ || alone_ || !sequencer_.ready() || may_run() == 0) return false;
  if (workers_ == 0 && in_strategy_ > 0) return false;
  if (admitted == ConsumerGate::Admission::kNone) return false;
  return suspects_ == 0 || batches_ == 0;
}

// A few keys with long lines that become free one by one would each make a batch of their own. So a
// free key waits for the keys that a running batch is about to free, but at most for the target
// time of a batch: a slow message delays no other key longer. Strategies that use a transaction for
// each message would gain nothing.
bool InFlightDeliveries::more_comes_soon() const {
  const std::size_t ready = sequencer_.ready_keys();
  return followers_ && in_strategy_ > 0 && sequencer_.waiting() > 2 * ready &&
         ready < sequencer_.keys_out() && ready < std::min(batch_size_.limit(), kCrowd);
}

std::vector<core::TrackedDelivery> InFlightDeliveries::take_locked(
    ConsumerGate::Admission admitted) {
  // The rules for groups of suspects decide how many run together, not this batch's size.
  const std::size_t size = suspects_ > 0 ? batch_size_.largest() : batch_size_.limit();
  std::size_t most = std::min(size, may_run());
  const bool tries = admitted == ConsumerGate::Admission::kOne;
  if (tries) {
    most = 1;
  } else if (workers_ > 1 && suspects_ == 0) {
    // The share counts only idle workers: when the busy ones return, more messages wait, and a
    // commit for each part of what waits now would cost as much as one for all of it.
    const auto free = static_cast<std::size_t>(std::max(workers_ - in_strategy_, 1));
    const std::size_t share = (sequencer_.waiting() + free - 1) / free;
    // A batch that takes every free key leaves none to the others, however few messages it has.
    if (!followers_ || sequencer_.ready_keys() > share) most = std::min(most, share);
  }
  free_since_ = 0;
  gathers_until_.reset();
  std::vector<core::TrackedDelivery> batch = sequencer_.take(most, followers_);
  if (batch.empty()) return batch;
  ++batches_;
  ++in_strategy_;
  batch.front().trial = tries ? gate_->tries() : 0;
  if (batch.front().arrival.suspect) {
    suspects_ -= batch.size();
    alone_ = true;
  }
  return batch;
}

std::vector<core::TrackedDelivery> InFlightDeliveries::take(bool wait) {
  const system::MutexLock lock(mutex_);
  for (;;) {
    if (wait) waited_for_ = true;
    // The gate has its own lock: ask it once, and use that answer.
    const ConsumerGate::Admission admitted = admission();
    const bool mine = !wait || workers_ > 0 || crowded_locked();
    const bool may = mine && may_take(admitted);
    if (may && !more_comes_soon()) return take_locked(admitted);
    if (!wait || closed_) return {};
    if (!may) {
      ready_.wait(mutex_);
      continue;
    }
    const TimePoint now = std::chrono::steady_clock::now();
    if (!gathers_until_) gathers_until_ = now + batch_size_.target();
    if (now >= *gathers_until_) return take_locked(admitted);
    ready_.wait_until(mutex_, *gathers_until_);
  }
}

void InFlightDeliveries::answered() {
  ++answered_;
  const std::size_t free = ++free_since_;
  if (!waited_for_ || free < limits_.running / kShare) return;
  const system::MutexLock lock(mutex_);
  call_workers();
}

bool InFlightDeliveries::returned() {
  const system::MutexLock lock(mutex_);
  --in_strategy_;
  call_workers();
  return thin();
}

bool InFlightDeliveries::ran(std::size_t messages, bool suspect, std::uint64_t trial,
                             std::optional<std::chrono::nanoseconds> took) {
  const system::MutexLock lock(mutex_);
  if (trial != 0) gate_->tried(trial);
  --batches_;
  if (suspect) alone_ = false;
  if (took) batch_size_.ran(messages, *took);
  call_workers();
  landed_.notify_all();
  return thin();
}

bool InFlightDeliveries::land(std::vector<PendingSettlement>& pending_settlements, TimePoint now) {
  const system::MutexLock lock(mutex_);
  bool kept = false;
  const bool in_lines = lines_.on_failure != OnFailure::kSkip;
  for (PendingSettlement& pending : pending_settlements) {
    if (pending.answered) --answered_;
    if (pending.keep != nullptr && leaves(pending.keep->arrival)) {
      kept = true;
      --messages_;
      bytes_ -= pending.bytes;
      sequencer_.release(pending.lane);
      pending.keep->arrival.suspect = pending.still_suspect;
      given_away_.push_back(std::move(*pending.keep));
      continue;
    }
    if (pending.left && pending.keep != nullptr) {
      take_back(pending);
      continue;
    }
    if (in_lines && pending.again && pending.keep == nullptr) stop_line(pending);
    if (in_lines && !pending.again && !aside_.followers.empty()) kept = aside_moved_ = true;
    if (in_lines && pending.keep != nullptr) {
      sequencer_.close(pending.lane);
    } else {
      sequencer_.release(pending.lane);
    }
    if (pending.keep != nullptr) {
      kept = true;
      pending.keep->arrival.suspect = pending.still_suspect;
      pending.keep->trial = 0;
      pending.keep->answered = false;
      later_.push_back(
          {now + pending.settlement.delay, pending.waits_for, std::move(*pending.keep)});
    } else {
      --messages_;
      bytes_ -= pending.bytes;
    }
  }
  pending_settlements.clear();
  if (sequencer_.ready()) call_workers();
  return kept || !aside_.rows.empty() || !aside_.followers.empty() || thin();
}

// Its line may have stopped meanwhile.
void InFlightDeliveries::take_back(const PendingSettlement& pending) {
  pending.keep->follows = false;
  pending.keep->arrival.suspect = pending.still_suspect;
  if (pending.still_suspect) ++suspects_;
  if (may_run_now(*pending.keep)) return sequencer_.put_back(std::move(*pending.keep));
  sequencer_.release(pending.lane);
  std::vector<core::TrackedDelivery> one;
  one.push_back(std::move(*pending.keep));
  put_aside(std::move(one));
}

// The store has it and brings it again: later messages of its line must not overtake it.
void InFlightDeliveries::stop_line(const PendingSettlement& pending) {
  if (!pending.line) return;
  book_.stopped(*pending.line);
  // Where the config was another one, rows of its name may be in other lines.
  const auto in_line = [&](const core::TrackedDelivery& delivery) {
    return delivery.arrival.line == *pending.line;
  };
  put_aside(lines_.on_failure == OnFailure::kHoldKey ? sequencer_.withdraw(pending.lane, in_line)
                                                     : sequencer_.withdraw_if(in_line));
}

void InFlightDeliveries::remove_waiting(const core::TrackedDelivery& delivery) {
  --messages_;
  bytes_ -= weight(delivery);
  if (delivery.arrival.suspect) --suspects_;
}

void InFlightDeliveries::put_aside(std::vector<core::TrackedDelivery> deliveries) {
  for (core::TrackedDelivery& delivery : deliveries) {
    remove_waiting(delivery);
    (delivery.arrival.row ? aside_.rows : aside_.followers).push_back(std::move(delivery));
  }
  sort_followers();
}

// A message that was kept in memory for another attempt may be older than followers that are aside.
void InFlightDeliveries::sort_followers() {
  const auto older = [](const core::TrackedDelivery& a, const core::TrackedDelivery& b) {
    return a.number < b.number;
  };
  if (std::is_sorted(aside_.followers.begin(), aside_.followers.end(), older)) return;
  std::stable_sort(aside_.followers.begin(), aside_.followers.end(), older);
}

void InFlightDeliveries::put_back(std::vector<core::TrackedDelivery> followers) {
  std::swap(aside_.followers, followers);
  std::move(followers.begin(), followers.end(), std::back_inserter(aside_.followers));
  sort_followers();
}

InFlightDeliveries::Aside InFlightDeliveries::take_aside() {
  const system::MutexLock lock(mutex_);
  aside_moved_ = false;
  return std::exchange(aside_, {});
}

void InFlightDeliveries::keep_aside(std::vector<core::TrackedDelivery> followers) {
  const system::MutexLock lock(mutex_);
  put_back(std::move(followers));
}

InFlightDeliveries::Waiting InFlightDeliveries::waiting_aside() {
  const system::MutexLock lock(mutex_);
  return {!aside_.rows.empty(), !aside_.followers.empty(), aside_moved_,
          forgotten_ || book_.size() > 2 * lines_known_ + kManyLines};
}

InFlightDeliveries::Question InFlightDeliveries::ask() {
  const system::MutexLock lock(mutex_);
  return book_.ask();
}

// Both under one lock: otherwise a line could stop in between, and this question would not be too
// old for it.
std::optional<InFlightDeliveries::Question> InFlightDeliveries::ask_for_more() {
  const system::MutexLock lock(mutex_);
  if (!aside_.rows.empty()) return std::nullopt;
  return book_.ask();
}

void InFlightDeliveries::lines_held(const std::vector<Bytes>& lines, Question asked) {
  const system::MutexLock lock(mutex_);
  book_.only({lines.begin(), lines.end()}, asked);
  if (forgotten_ && *forgotten_ < asked) forgotten_.reset();
  // The store may have none of a line whose followers are aside. Later ones must not pass
  // them.
  for (const core::TrackedDelivery& delivery : aside_.followers) {
    if (delivery.arrival.line) book_.held(*delivery.arrival.line);
  }
  lines_known_ = book_.size();
}

void InFlightDeliveries::forget_lines() {
  const system::MutexLock lock(mutex_);
  forgotten_ = book_.ask();
}

std::vector<core::TrackedDelivery> InFlightDeliveries::line_free(
    BytesView line, std::vector<core::TrackedDelivery> followers, Question asked) {
  const system::MutexLock lock(mutex_);
  if (!book_.free(line, asked)) return followers;
  put_back(std::move(followers));
  const auto since = std::stable_partition(
      aside_.followers.begin(), aside_.followers.end(),
      [&](const core::TrackedDelivery& delivery) { return delivery.arrival.line != line; });
  for (auto it = since; it != aside_.followers.end(); ++it) add_locked(std::move(*it));
  aside_.followers.erase(since, aside_.followers.end());
  call_workers();
  return {};
}

void InFlightDeliveries::look_again() {
  const system::MutexLock lock(mutex_);
  call_workers();
}

bool InFlightDeliveries::gate_is_shut() const {
  return admission() == ConsumerGate::Admission::kNone;
}

// Deliveries that do not stay wait in the sequencer again. True where there was one.
template <class Stays>
bool InFlightDeliveries::reopen_unless(Stays stays) {
  const auto back = std::stable_partition(later_.begin(), later_.end(), stays);
  const bool any = back != later_.end();
  for (auto it = back; it != later_.end(); ++it) {
    if (it->delivery.arrival.suspect) ++suspects_;
    sequencer_.reopen(std::move(it->delivery));
  }
  later_.erase(back, later_.end());
  return any;
}

std::optional<TimePoint> InFlightDeliveries::bring_back(TimePoint now) {
  const system::MutexLock lock(mutex_);
  if (later_.empty()) return std::nullopt;
  if (reopen_unless([&](const Later& later) { return later.due > now; })) call_workers();
  if (later_.empty()) return std::nullopt;
  return std::min_element(later_.begin(), later_.end(),
                          [](const Later& a, const Later& b) { return a.due < b.due; })
      ->due;
}

bool InFlightDeliveries::leaves(const Arrival& arrival) const {
  return !leaving_.empty() && leaving_.contains({arrival.source, arrival.tag.generation});
}

std::vector<core::TrackedDelivery> InFlightDeliveries::give_away(
    const std::vector<Generation>& leaving) {
  const system::MutexLock lock(mutex_);
  leaving_.insert(leaving.begin(), leaving.end());
  if (!leaving.empty()) withdraw_leaving();
  // Nothing of them comes back any more.
  if (batches_ == 0) leaving_.clear();
  return std::exchange(given_away_, {});
}

void InFlightDeliveries::withdraw_leaving() {
  const auto goes = [&](const core::TrackedDelivery& delivery)
                        SEMEL_REQUIRES(mutex_) { return leaves(delivery.arrival); };
  // Others of its key go on.
  reopen_unless([&](const Later& later)
                    SEMEL_REQUIRES(mutex_) { return !leaves(later.delivery.arrival); });
  for (core::TrackedDelivery& delivery : sequencer_.withdraw_if(goes)) {
    remove_waiting(delivery);
    given_away_.push_back(std::move(delivery));
  }
  auto& followers = aside_.followers;
  const auto aside =
      std::stable_partition(followers.begin(), followers.end(),
                            [&](const core::TrackedDelivery& delivery)
                                SEMEL_REQUIRES(mutex_) { return !leaves(delivery.arrival); });
  std::move(aside, followers.end(), std::back_inserter(given_away_));
  followers.erase(aside, followers.end());
  call_workers();
}

bool InFlightDeliveries::recall(std::uint64_t waited_for) {
  const system::MutexLock lock(mutex_);
  bool any = false;
  for (Later& later : later_) {
    if (later.waits_for != waited_for) continue;
    later.due = TimePoint::min();
    any = true;
  }
  return any;
}

std::vector<core::TrackedDelivery> InFlightDeliveries::close() {
  const system::MutexLock lock(mutex_);
  closed_ = true;
  std::vector<core::TrackedDelivery> rest = withdraw_all();
  ready_.notify_all();
  return rest;
}

std::vector<core::TrackedDelivery> InFlightDeliveries::withdraw() {
  const system::MutexLock lock(mutex_);
  return withdraw_all();
}

std::vector<core::TrackedDelivery> InFlightDeliveries::withdraw_all() {
  reopen_unless([](const Later&) { return false; });
  std::vector<core::TrackedDelivery> rest =
      sequencer_.withdraw_if([](const core::TrackedDelivery&) { return true; });
  for (const core::TrackedDelivery& delivery : rest) remove_waiting(delivery);
  for (auto* aside : {&aside_.rows, &aside_.followers, &given_away_}) {
    std::move(aside->begin(), aside->end(), std::back_inserter(rest));
    aside->clear();
  }
  return rest;
}

bool InFlightDeliveries::all_taken() const {
  const system::MutexLock lock(mutex_);
  if (batches_ == 0) return false;
  // A suspect waits until it can run alone, and others wait for it.
  if (alone_ || suspects_ > 0 || may_run() == 0) return true;
  return in_strategy_ >= std::max(workers_, 1) || (!has_room() && !sequencer_.ready());
}

void InFlightDeliveries::stand_still(bool still) {
  const system::MutexLock lock(mutex_);
  stands_still_ = still;
}

bool InFlightDeliveries::wait_landed(std::chrono::milliseconds deadline) {
  const system::MutexLock lock(mutex_);
  return landed_.wait_for(mutex_, deadline, [&]() SEMEL_REQUIRES(mutex_) { return batches_ == 0; });
}

bool InFlightDeliveries::ready() const {
  const system::MutexLock lock(mutex_);
  return may_take(admission());
}

bool InFlightDeliveries::empty() const { return size() == 0; }

std::size_t InFlightDeliveries::size() const {
  const system::MutexLock lock(mutex_);
  return messages_ + refused_ + aside_.rows.size() + aside_.followers.size() + given_away_.size();
}

}  // namespace semel::engine
