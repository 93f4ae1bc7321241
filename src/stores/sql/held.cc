#include "stores/sql/held.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <semel/spi/record_machine.h>

#include "stores/sql/held_take.h"
#include "stores/sql/transacted.h"
#include "system/mutex.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

// Where all rows looked at wait in their lines, a take continues for this long, in a transaction
// each time, so that others have their turns in between.
constexpr milliseconds kLongestTake{250};

// Holds back messages for lines that have rows, within its transaction.
class Behind {
 public:
  Behind(HeldRows& held, ConsumerNumber consumer, std::span<const Follower> followers)
      : held_(held) {
    std::set<Bytes> names;
    for (const Follower& follower : followers) names.insert(*follower.arrival->line);
    const std::vector<Bytes> asked(names.begin(), names.end());
    held_.lines().find(consumer, asked, lines_);
  }

  HeldMessages::Place place(const Follower& follower, std::size_t most_bytes, StoreTime now) {
    const auto line = lines_.find(*follower.arrival->line);
    if (line == lines_.end()) return HeldMessages::Place::kFree;
    const std::size_t size = follower.message->payload().size();
    // Once a message does not fit, later messages of its line must not overtake it.
    if (full_.contains(line->first) || line->second.bytes() + size > most_bytes) {
      full_.insert(line->first);
      return HeldMessages::Place::kFull;
    }
    HeldContent content = HeldContent::of(*follower.message, follower.arrival);
    content.due = spi::kDueAtOnce;
    const RowTag row = held_.next();
    LineEnd end;
    end.row = row;
    end.seat = seat_behind(&line->second, row, size);
    held_.add_behind(content, row, end.seat, now);
    line->second.last = end;
    return HeldMessages::Place::kHeld;
  }

 private:
  HeldRows& held_;
  Lines lines_;
  std::set<BytesView> full_;
};

// Takes that may have been committed although their answer was lost. Their rows are in no one's
// hands, so they would wait until they are due again. Thread-safe.
class LostTakes {
 public:
  void add(ConsumerNumber consumer, StoreTime until) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    lost_.emplace(consumer, until);
  }
  std::vector<StoreTime> of(ConsumerNumber consumer) const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    std::vector<StoreTime> untils;
    const auto [first, last] = lost_.equal_range(consumer);
    for (auto one = first; one != last; ++one) untils.push_back(one->second);
    return untils;
  }
  void forget(ConsumerNumber consumer, std::span<const StoreTime> untils) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    std::erase_if(lost_, [&](const auto& one) {
      return one.first == consumer && std::ranges::find(untils, one.second) != untils.end();
    });
  }

 private:
  mutable system::Mutex mutex_;
  std::multimap<ConsumerNumber, StoreTime> lost_ SEMEL_GUARDED_BY(mutex_);
};

// The instances under which this store has taken rows: several where it lost its session. Until
// others show the rows of a former one, they are in its hands. Thread-safe.
class OwnInstances {
 public:
  void add(std::int64_t instance) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    all_.insert(instance);
  }
  std::set<std::int64_t> all() const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return all_;
  }

 private:
  mutable system::Mutex mutex_;
  std::set<std::int64_t> all_ SEMEL_GUARDED_BY(mutex_);
};

class Held final : public HeldMessages {
 public:
  explicit Held(const StoreContext& context) : context_(context) {}

  Result<void> append(ConsumerNumber consumer, std::span<const OutgoingMessage> messages) override {
    return contained([&] {
      if (messages.empty()) return;
      transacted(context_.pool, [&](ScopedTransaction& work) {
        HeldRows held = rows(work.session());
        const StoreTime now = work.now();
        for (const OutgoingMessage& message : messages) {
          held.add(HeldContent::of(consumer, message, now), now);
        }
      });
    });
  }

  Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden,
                                    const LineOf& line_of) override {
    return contained([&] {
      // Before the look: a row that arrives during it wakes again.
      context_.wake_ups.drain(consumer);
      if (max_messages == 0) return std::vector<Arrival>();
      HeldTake::Wanted wanted;
      wanted.consumer = consumer;
      wanted.max_messages = max_messages;
      wanted.max_bytes = max_bytes;
      const std::vector<StoreTime> lost = lost_.of(consumer);
      const auto attempt = [&](bool lined) {
        return transacted(context_.pool, [&](ScopedTransaction& work) {
          wanted.instance = context_.instances.number_for(work.session());
          own_.add(wanted.instance);
          show_again(work, wanted, lost);
          return take(work, wanted, hidden, line_of, lined);
        });
      };
      try {
        const auto end = std::chrono::steady_clock::now() + kLongestTake;
        for (;;) {
          auto taken = attempt(static_cast<bool>(line_of));
          if (!taken) taken = attempt(true);
          const bool again = taken->rows.empty() && taken->more;
          if (again && std::chrono::steady_clock::now() < end) continue;
          if (!lost.empty()) lost_.forget(consumer, lost);
          return std::move(taken->rows);
        }
      } catch (const Failure& failed) {
        if (failed.error().kind == ErrorKind::kInDoubt) lost_.add(consumer, wanted.until);
        throw;
      }
    });
  }

  Result<std::vector<Place>> hold_behind(ConsumerNumber consumer,
                                         std::span<const Follower> followers,
                                         std::size_t most_bytes) override {
    return contained([&] {
      if (followers.empty()) return std::vector<Place>();
      return transacted(context_.pool, [&](ScopedTransaction& work) {
        HeldRows held = rows(work.session());
        held.lines().lock(consumer);
        const StoreTime now = work.now();
        Behind behind(held, consumer, followers);
        std::vector<Place> places;
        for (const Follower& follower : followers) {
          places.push_back(behind.place(follower, most_bytes, now));
        }
        return places;
      });
    });
  }

  Result<std::vector<Bytes>> lines(ConsumerNumber consumer) override {
    return contained([&] {
      PooledSession session(context_.pool);
      HeldRows held = rows(*session);
      auto lines = held.lines().all(consumer);
      if (lines.empty() || held.parked_in_lines(consumer).empty()) return lines;
      return lines_after_mend(consumer);
    });
  }

  Result<void> release(std::span<const RowTag> rows, milliseconds delay) override {
    return change(
        rows, [&, by = own_.all()](HeldRows& held, std::span<const RowTag> sorted, StoreTime now) {
          held.release(sorted, delay, now, &by);
        });
  }

  Result<void> extend(std::span<const RowTag> rows, milliseconds hidden) override {
    return change(
        rows, [&, by = own_.all()](HeldRows& held, std::span<const RowTag> sorted, StoreTime now) {
          held.hide(sorted, spi::due_after(now, hidden), now, &by);
        });
  }

  Result<void> remove(std::span<const RowTag> rows) override {
    return change(rows, [](HeldRows& held, std::span<const RowTag> sorted, StoreTime) {
      held.take_out(sorted);
    });
  }

  Result<Peek> peek(ConsumerNumber consumer) override {
    return contained([&] {
      PooledSession session(context_.pool);
      const StoreTime now = session->now();
      return rows(*session).peek(consumer, now);
    });
  }

  Result<Depth> depth(ConsumerNumber consumer) override {
    return contained([&] {
      PooledSession session(context_.pool);
      const StoreTime now = session->now();
      return rows(*session).depth(consumer, now);
    });
  }

  int wake_fd() noexcept override { return context_.wake_ups.fd(std::nullopt); }
  int wake_fd(ConsumerNumber consumer) noexcept override { return context_.wake_ups.fd(consumer); }

 private:
  HeldRows rows(Session& session) { return {session, context_.texts.held, context_.wake_ups}; }

  // Takes rows that an older version has parked in their lines out of these.
  std::vector<Bytes> lines_after_mend(ConsumerNumber consumer) {
    return transacted(context_.pool, [&](ScopedTransaction& work) {
      HeldRows held = rows(work.session());
      held.lines().lock(consumer);
      for (const RowTag row : held.parked_in_lines(consumer)) held.park(row);
      return held.lines().all(consumer);
    });
  }

  void show_again(ScopedTransaction& work, const HeldTake::Wanted& wanted,
                  std::span<const StoreTime> lost) {
    HeldRows held = rows(work.session());
    std::vector<RowTag> all;
    for (const StoreTime until : lost) {
      const auto taken = held.taken(wanted.consumer, wanted.instance, until);
      all.insert(all.end(), taken.begin(), taken.end());
    }
    const std::set<std::int64_t> by{wanted.instance};
    if (!all.empty()) held.release(all, milliseconds(0), work.now(), &by);
  }

  // nullopt where the lines must be locked first.
  std::optional<HeldTake::Taken> take(ScopedTransaction& work, HeldTake::Wanted& wanted,
                                      milliseconds hidden, const LineOf& line_of, bool lined) {
    HeldRows held = rows(work.session());
    if (lined) {
      // Where nothing is due, the lock is not waited for.
      if (!held.any_due(wanted.consumer, work.session().now())) return HeldTake::Taken();
      held.lines().lock(wanted.consumer);
    }
    wanted.now = work.now();
    wanted.until = spi::due_after(wanted.now, hidden);
    return HeldTake(held, wanted).run(line_of);
  }

  // All code changes rows in one order, to avoid deadlocks.
  template <class Change>
  Result<void> change(std::span<const RowTag> rows, Change&& change) {
    return contained([&] {
      if (rows.empty()) return;
      std::vector<RowTag> sorted(rows.begin(), rows.end());
      std::ranges::sort(sorted);
      transacted(context_.pool, [&](ScopedTransaction& work) {
        HeldRows held = this->rows(work.session());
        change(held, std::span<const RowTag>(sorted), work.now());
      });
    });
  }

  const StoreContext context_;
  LostTakes lost_;
  OwnInstances own_;
};

}  // namespace

std::unique_ptr<HeldMessages> make_held(const StoreContext& context) {
  return std::make_unique<Held>(context);
}

}  // namespace semel::sql
