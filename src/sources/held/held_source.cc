#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include <semel/environment.h>

#include "sources/sources.h"
#include "sources/wake.h"
#include "system/mutex.h"

namespace semel::sources {

using std::chrono::milliseconds;

namespace {

// While no waiting row can be taken, another look shows whether other processes have ended or
// released rows. The first looks come quickly, so that a queue's end is noticed soon; later looks
// are rare.
constexpr milliseconds kFirstLook{10};
constexpr milliseconds kRareLook{1'000};
// Without a descriptor of the store, new rows are found by polling.
constexpr milliseconds kLookBlind{250};

// A busy or doubtful store is asked again: only a wrong request is final.
Error away(Error error) {
  if (error.kind != ErrorKind::kRejected && error.kind != ErrorKind::kLimit) {
    error.kind = ErrorKind::kUnavailable;
  }
  return error;
}

// Every commit of this process may signal the store's descriptor, and each signal costs a look.
// After a useless look, signals are ignored for this time.
constexpr milliseconds kDeafFor{2};

class HeldSource final : public Source {
 public:
  HeldSource(HeldMessages& held, ConsumerNumber consumer, milliseconds hidden,
             Environment& environment, LineOf line_of)
      : held_(held),
        consumer_(consumer),
        hidden_(hidden),
        line_of_(std::move(line_of)),
        wake_fd_(held.wake_fd(consumer)),
        clock_(*environment.clock) {
    if (wake_fd_ >= 0) wake_.watch(wake_fd_);
  }

  const SourceTraits& traits() const noexcept override { return kQueueTraits; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override;
  void set_paused(std::string_view partition, bool paused) override;
  Result<void> close(milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Delayed {
    RowTag row;
    milliseconds delay;
  };

  Result<bool> something_due() SEMEL_EXCLUDES(mutex_);
  Result<void> plan_next(const Received& received, const ReceiveLimits& limits);
  Result<void> look();
  void leave_out_own(std::vector<Arrival>& arrivals) SEMEL_EXCLUDES(mutex_);
  void dress(std::vector<Arrival>& arrivals) SEMEL_EXCLUDES(mutex_);
  Result<void> give_back(std::vector<Delayed>& rows);

  HeldMessages& held_;
  const ConsumerNumber consumer_;
  const milliseconds hidden_;
  const LineOf line_of_;
  const int wake_fd_;
  Clock& clock_;
  Wake wake_;

  // Used by the receiving thread only. Taking rows writes, so it is done only when a row can be
  // due.
  bool may_have_more_ = true;  // the last take was not empty, or there was none
  bool empty_ = false;         // at the last look the consumer had no rows at all
  std::optional<TimePoint> next_look_;
  milliseconds look_after_ = kFirstLook;
  bool rang_ = false;  // the store's descriptor was readable in this receive
  std::optional<TimePoint> deaf_until_;
  std::uint64_t takes_ = 0;
  bool listening_ = true;

  system::Mutex mutex_;
  struct Taken {
    std::uint64_t take = 0;  // that it came with
    bool renewed = true;     // by the last call of extend
    bool again = false;      // it was visible again, and taken
  };
  std::unordered_map<std::uint64_t, Taken> taken_ SEMEL_GUARDED_BY(mutex_);  // by row
  // rows were given back or removed since the last receive
  bool changed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_ SEMEL_GUARDED_BY(mutex_) = false;
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
};

// True if a take can find something. Asks the store only if its answer may have changed.
Result<bool> HeldSource::something_due() {
  rang_ = false;
  if (may_have_more_) return true;
  pollfd wake{wake_fd_, POLLIN, 0};
  const TimePoint now = clock_.now();
  if (deaf_until_ && now >= *deaf_until_) deaf_until_.reset();
  // Only a take clears the descriptor.
  rang_ = !deaf_until_ && wake.fd >= 0 && ::poll(&wake, 1, 0) > 0;
  if (rang_) return true;
  bool changed = false;
  {
    const system::MutexLock lock(mutex_);
    changed = std::exchange(changed_, false);
  }
  if (!changed && (!next_look_ || now < *next_look_)) return false;
  if (changed) look_after_ = kFirstLook;
  if (auto looked = look(); !looked) return failure(std::move(looked.error()));
  return may_have_more_;
}

Result<Received> HeldSource::receive(const ReceiveLimits& limits) {
  Received received;
  wake_.clear();
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return failure({ErrorKind::kRejected, "R235", "the queue was closed", {}});
    if (paused_) return received;
  }
  if (limits.messages == 0) return received;
  if (limits.sure) {
    if (auto looked = look(); !looked) return failure(away(std::move(looked.error())));
  }
  auto due = something_due();
  if (!due) return failure(away(std::move(due.error())));
  if (*due) {
    auto taken = held_.take(consumer_, limits.messages, limits.bytes, hidden_, line_of_);
    if (!taken) {
      may_have_more_ = true;
      return failure(away(std::move(taken.error())));
    }
    received.arrivals = std::move(*taken);
    leave_out_own(received.arrivals);
    dress(received.arrivals);
    if (auto planned = plan_next(received, limits); !planned) {
      // Taken rows are returned; the error will still occur in the next call.
      if (received.arrivals.empty()) return failure(away(std::move(planned.error())));
    }
  }
  received.at_end = empty_ && !may_have_more_;
  return received;
}

// After a take that returned rows: a full one means that there are more; otherwise the next call
// looks.
Result<void> HeldSource::plan_next(const Received& received, const ReceiveLimits& limits) {
  if (received.arrivals.empty()) {
    auto looked = look();
    // Rows that are due cannot be taken, so repeated takes would be useless.
    if (looked) may_have_more_ = false;
    if (rang_) deaf_until_ = clock_.now() + kDeafFor;
    return looked;
  }
  std::size_t bytes = 0;
  for (const Arrival& arrival : received.arrivals) bytes += arrival.payload.size();
  look_after_ = kFirstLook;
  empty_ = false;
  may_have_more_ = received.arrivals.size() >= limits.messages || bytes >= limits.bytes;
  next_look_ = clock_.now();
  return {};
}

// Asks which rows exist, which does not write, and plans the next look.
Result<void> HeldSource::look() {
  auto peek = held_.peek(consumer_);
  if (!peek) {
    may_have_more_ = true;
    return failure(std::move(peek.error()));
  }
  empty_ = !peek->any;
  may_have_more_ = peek->next_due && *peek->next_due <= milliseconds(0);
  const bool blind = wake_fd_ < 0;
  next_look_.reset();
  if (empty_) {
    // The descriptor signals for all consumers of the store, and the first take clears it: another
    // consumer may have cleared a signal meant for this one.
    look_after_ = kFirstLook;
    next_look_ = clock_.now() + (blind ? kLookBlind : kRareLook);
    return {};
  }
  milliseconds after = blind ? std::min(look_after_, kLookBlind) : look_after_;
  look_after_ = std::min(look_after_ * 2, kRareLook);
  if (peek->next_due && !may_have_more_) after = std::min(after, *peek->next_due);
  next_look_ = clock_.now() + after;
  return {};
}

// A row in hand is visible again once it was not renewed in time, and is not handled twice here. If
// it is not renewed any more, because its handler hangs, it is soon visible to others again, and
// its line is left to them.
void HeldSource::leave_out_own(std::vector<Arrival>& arrivals) {
  std::vector<RowTag> hanging;
  std::vector<RowTag> behind;
  {
    const system::MutexLock lock(mutex_);
    std::set<Bytes> lines;
    std::erase_if(arrivals, [&](const Arrival& arrival) SEMEL_REQUIRES(mutex_) {
      const RowTag row = *arrival.row;
      const auto own = taken_.find(static_cast<std::uint64_t>(static_cast<std::int64_t>(row)));
      if (own != taken_.end()) {
        own->second.again = true;
        if (own->second.renewed) return true;
        hanging.push_back(row);
        if (arrival.line) lines.insert(*arrival.line);
        return true;
      }
      if (!arrival.line || !lines.contains(*arrival.line)) return false;
      behind.push_back(row);
      return true;
    });
  }
  // If this fails, the rows stay hidden for their time.
  if (!behind.empty()) (void)held_.release(behind, milliseconds(0));
  if (!hanging.empty()) (void)held_.extend(hanging, kRareLook);
}

void HeldSource::dress(std::vector<Arrival>& arrivals) {
  if (arrivals.empty()) return;
  ++takes_;
  const system::MutexLock lock(mutex_);
  for (Arrival& arrival : arrivals) {
    const std::int64_t row = static_cast<std::int64_t>(*arrival.row);
    arrival.tag = {static_cast<std::uint64_t>(row), takes_};
    taken_[arrival.tag.value] = {takes_};
    if (arrival.partition.empty()) arrival.partition = kQueueTraits.name;
    if (arrival.position.empty()) arrival.position = std::to_string(row);
  }
}

Wakeup HeldSource::wakeup() {
  Wakeup wakeup{wake_.fd(), std::nullopt};
  const system::MutexLock lock(mutex_);
  // While paused, new rows wake nothing; only calls of this source do.
  const bool open = !paused_ && !closed_;
  const bool listening = open && !deaf_until_;
  if (listening != listening_ && wake_fd_ >= 0) {
    listening ? (void)wake_.watch(wake_fd_) : wake_.unwatch(wake_fd_);
  }
  listening_ = listening;
  if (!open) return wakeup;
  const auto at_latest = [&](TimePoint when) {
    const auto left = std::chrono::ceil<milliseconds>(when - clock_.now());
    const milliseconds due = std::max(left, milliseconds(0));
    wakeup.due_in = wakeup.due_in ? std::min(*wakeup.due_in, due) : due;
  };
  if (may_have_more_ || changed_) {
    wakeup.due_in = milliseconds(0);
    return wakeup;
  }
  if (next_look_) at_latest(*next_look_);
  if (deaf_until_ && wake_fd_ >= 0) at_latest(*deaf_until_);
  return wakeup;
}

Result<void> HeldSource::settle(std::span<const Settlement> settlements) {
  std::vector<RowTag> remove;
  std::vector<Delayed> later;
  std::vector<std::pair<std::uint64_t, Taken>> told;
  {
    const system::MutexLock lock(mutex_);
    for (const Settlement& settlement : settlements) {
      const auto taken = taken_.find(settlement.tag.value);
      if (taken == taken_.end() || taken->second.take != settlement.tag.generation) continue;
      const RowTag row{static_cast<std::int64_t>(settlement.tag.value)};
      if (settlement.kind == Settlement::Kind::kAck) remove.push_back(row);
      if (settlement.kind == Settlement::Kind::kLater) later.push_back({row, settlement.delay});
      // A Finish has shown the row, or removed it; if it was taken since, nobody else shows it.
      const bool shows = settlement.kind == Settlement::Kind::kGone && taken->second.again;
      if (shows || settlement.kind == Settlement::Kind::kRelease)
        later.push_back({row, milliseconds(0)});
      told.emplace_back(*taken);
      // Before the store shows the row again: then it may be taken at once.
      taken_.erase(taken);
    }
  }
  if (told.empty()) return {};
  auto settled = remove.empty() ? Result<void>() : held_.remove(remove);
  if (settled && !later.empty()) settled = give_back(later);
  {
    const system::MutexLock lock(mutex_);
    if (!settled) {
      taken_.insert(told.begin(), told.end());
      return settled;
    }
    changed_ = true;
  }
  wake_.notify();
  return {};
}

// Rows with nearly equal delays share one call, with the longest delay among them: a row must not
// come back early, but may come back a little late.
Result<void> HeldSource::give_back(std::vector<Delayed>& rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Delayed& a, const Delayed& b) { return a.delay > b.delay; });
  std::vector<RowTag> group;
  for (std::size_t i = 0; i < rows.size();) {
    const milliseconds longest = rows[i].delay;
    const milliseconds shortest = longest - longest / 8;
    group.clear();
    for (; i < rows.size() && rows[i].delay >= shortest; ++i) group.push_back(rows[i].row);
    if (auto released = held_.release(group, longest); !released) return released;
  }
  return {};
}

Result<void> HeldSource::extend(std::span<const Tag> tags, milliseconds by) {
  std::vector<RowTag> rows;
  rows.reserve(tags.size());
  {
    const system::MutexLock lock(mutex_);
    for (auto& [row, taken] : taken_) taken.renewed = false;
    for (const Tag& tag : tags) {
      const auto taken = taken_.find(tag.value);
      if (taken == taken_.end()) continue;
      taken->second.renewed = true;
      rows.push_back(RowTag{static_cast<std::int64_t>(tag.value)});
    }
  }
  return rows.empty() ? Result<void>() : held_.extend(rows, by);
}

Result<void> HeldSource::close(milliseconds) {
  std::vector<Delayed> rest;
  {
    const system::MutexLock lock(mutex_);
    closed_ = true;
    for (const auto& [row, take] : taken_) {
      rest.push_back({RowTag{static_cast<std::int64_t>(row)}, milliseconds(0)});
    }
  }
  if (rest.empty()) return {};
  // Rows that the store could not take back are released again by another call.
  if (auto given = give_back(rest); !given) return given;
  const system::MutexLock lock(mutex_);
  for (const Delayed& one : rest) taken_.erase(static_cast<std::uint64_t>(one.row));
  return {};
}

void HeldSource::set_paused(std::string_view partition, bool paused) {
  if (!partition.empty() && partition != kQueueTraits.name) return;
  {
    const system::MutexLock lock(mutex_);
    paused_ = paused;
  }
  wake_.notify();
}

}  // namespace

std::unique_ptr<Source> make_held_source(HeldMessages& held, ConsumerNumber consumer,
                                         milliseconds hidden, Environment& environment,
                                         LineOf line_of) {
  return std::make_unique<HeldSource>(held, consumer, hidden, environment, std::move(line_of));
}

}  // namespace semel::sources
