// HeldMessages over the table.
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <semel/spi/record_machine.h>

#include "stores/sqlite/store_context.h"

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

// The most rows taken together with the visible row before them: a long line must not fill a take.
constexpr std::size_t kWithTheFirst = 32;
// Rows in one look. With lines a row looked at may have to wait, so a look is never smaller than
// the least: the places left do not determine how many rows to look at.
constexpr std::size_t kLeastLook = 32;
constexpr std::size_t kLook = 256;
// Payload bytes that one look with lines reads where less is wanted.
constexpr std::size_t kLookBytes = 1 << 20;
// Rows that one transaction looks at: all other writers wait for it.
constexpr std::size_t kMostLookedAt = 4 * kLook;
// Where all rows looked at wait in their lines, a take continues for this long, in a transaction
// each time, so that others have their turns in between.
constexpr milliseconds kLongestTake{250};

// One take, within its transaction.
class Take {
 public:
  Take(HeldRows& held, ConsumerNumber consumer, std::size_t max_messages, std::size_t max_bytes,
       std::int64_t instance, StoreTime now, StoreTime until)
      : held_(held),
        consumer_(consumer),
        max_messages_(max_messages),
        max_bytes_(max_bytes),
        instance_(instance),
        now_(now),
        until_(until) {}

  // After it, no row looked at is due: it was taken, or put behind.
  std::vector<Arrival> run(const LineOf& line_of) {
    for (std::size_t looked = 0; !full();) {
      more_ = looked >= kMostLookedAt;
      if (more_) break;
      auto due = look(static_cast<bool>(line_of), looked == 0);
      if (due.empty()) break;
      looked += due.size();
      for (Arrival& arrival : due) {
        if (full()) break;
        look_at(std::move(arrival), line_of);
      }
    }
    return std::move(taken_);
  }
  // Whether it looked at as many rows as one transaction may, and others are due.
  bool more() const { return more_; }

 private:
  bool full() const { return taken_.size() >= max_messages_ || bytes_ >= max_bytes_; }

  std::vector<Arrival> look(bool in_lines, bool first) {
    const std::size_t left = max_messages_ - taken_.size();
    const std::size_t bytes = max_bytes_ - bytes_;
    if (!in_lines) return held_.due(consumer_, left, bytes, now_);
    const std::size_t most = first ? std::clamp(left, kLeastLook, kLook) : kLook;
    return held_.due(consumer_, most, std::max(bytes, kLookBytes), now_);
  }

  void look_at(Arrival arrival, const LineOf& line_of) {
    const RowTag row = *arrival.row;
    const bool was_in_line = arrival.line.has_value();
    if (!was_in_line && line_of) {
      arrival.line = line_of(arrival);
      if (arrival.line) held_.lines().join(row, consumer_, *arrival.line);
    }
    // A row at the end of a line waits if the row before it does.
    const bool at_the_end = !was_in_line && arrival.line && waiting_.contains(*arrival.line);
    if (arrival.line && (at_the_end || held_.lines().waits(row, instance_, now_))) {
      held_.lines().put_behind(row);
      waiting_.insert(*std::move(arrival.line));
      return;
    }
    add(std::move(arrival));
    if (!was_in_line) return;
    for (const RowTag next : held_.lines().behind(row, kWithTheFirst)) {
      if (full()) return;
      add(*held_.find(next, now_));
    }
  }

  void add(Arrival arrival) {
    held_.take(*arrival.row, instance_, until_);
    bytes_ += arrival.payload.size();
    taken_.push_back(std::move(arrival));
  }

  HeldRows& held_;
  const ConsumerNumber consumer_;
  const std::size_t max_messages_;
  const std::size_t max_bytes_;
  const std::int64_t instance_;
  const StoreTime now_;
  const StoreTime until_;
  std::set<Bytes> waiting_;  // lines with a row that this take has put behind
  bool more_ = false;
  std::vector<Arrival> taken_;
  std::size_t bytes_ = 0;
};

class Held final : public HeldMessages {
 public:
  explicit Held(StoreContext& context) : context_(context) {}

  Result<void> append(ConsumerNumber consumer, std::span<const OutgoingMessage> messages) override {
    return contained([&] {
      if (messages.empty()) return;
      WriteTransaction transaction(context_.writer, Sync::kPowerLoss, context_.options.busy);
      const StoreTime now = transaction.now();
      for (const OutgoingMessage& message : messages) {
        transaction.tables().held.add(HeldContent::of(consumer, message, now), now);
      }
      transaction.commit();
    });
  }

  Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden,
                                    const LineOf& line_of) override {
    return contained([&] {
      // Before the look: a row that arrives during it wakes again.
      context_.wake_ups.drain(consumer);
      std::vector<Arrival> taken;
      if (max_messages == 0) return taken;
      const auto end = std::chrono::steady_clock::now() + kLongestTake;
      bool more = true;
      while (more && taken.empty()) {
        // Where nothing is due, nothing is written, and no turn is waited for.
        if (!any_due(consumer)) break;
        const std::int64_t instance = context_.instances.number();
        WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
        HeldRows& held = transaction.tables().held;
        const StoreTime now = transaction.now();
        Take take(held, consumer, max_messages, max_bytes, instance, now,
                  spi::due_after(now, hidden));
        taken = take.run(line_of);
        more = take.more() && std::chrono::steady_clock::now() < end;
        // This commit wakes nothing here: rows that others had added before it were looked at.
        transaction.commit([&] {
          if (!take.more()) context_.wake_ups.drain(consumer);
        });
      }
      return taken;
    });
  }

  Result<std::vector<Place>> hold_behind(ConsumerNumber consumer,
                                         std::span<const Follower> followers,
                                         std::size_t most_bytes) override {
    return contained([&] {
      std::vector<Place> places;
      if (followers.empty()) return places;
      WriteTransaction transaction(context_.writer, Sync::kPowerLoss, context_.options.busy);
      HeldRows& held = transaction.tables().held;
      const StoreTime now = transaction.now();
      // Once a message does not fit, later messages of its line must not overtake it.
      std::set<BytesView> full;
      for (const Follower& follower : followers) {
        const BytesView line = *follower.arrival->line;
        const auto bytes = held.lines().bytes(consumer, line);
        if (!bytes) {
          places.push_back(Place::kFree);
        } else if (full.contains(line) ||
                   *bytes + follower.message->payload().size() > most_bytes) {
          full.insert(line);
          places.push_back(Place::kFull);
        } else {
          HeldContent content = HeldContent::of(*follower.message, follower.arrival);
          content.due = spi::kDueAtOnce;
          const std::int64_t row = held.add(content, now);
          held.lines().put_behind(RowTag{row});
          places.push_back(Place::kHeld);
        }
      }
      transaction.commit();
      return places;
    });
  }

  Result<std::vector<Bytes>> lines(ConsumerNumber consumer) override {
    return contained([&] {
      bool parked = false;
      auto lines = context_.reader.glance([&](Tables& tables, Connection&) {
        auto all = tables.held.lines().all(consumer);
        parked = !all.empty() && !tables.held.parked_in_lines(consumer).empty();
        return all;
      });
      return parked ? lines_after_mend(consumer) : lines;
    });
  }

  Result<void> release(std::span<const RowTag> rows, milliseconds delay) override {
    return change_in_hand(
        rows, [&](HeldRows& held, RowTag row, StoreTime now) { held.release(row, delay, now); });
  }

  Result<void> extend(std::span<const RowTag> rows, milliseconds hidden) override {
    return change_in_hand(rows, [&](HeldRows& held, RowTag row, StoreTime now) {
      held.hide(row, spi::due_after(now, hidden), now);
    });
  }

  Result<void> remove(std::span<const RowTag> rows) override {
    return change(
        rows, [](HeldRows& held, RowTag row, StoreTime) { held.remove(row); }, Sync::kPowerLoss);
  }

  Result<Peek> peek(ConsumerNumber consumer) override {
    return contained([&] {
      return context_.reader.glance([&](Tables& tables, Connection&) {
        return tables.held.peek(consumer, context_.clock.now());
      });
    });
  }

  Result<Depth> depth(ConsumerNumber consumer) override {
    return contained([&] {
      return context_.reader.glance([&](Tables& tables, Connection&) {
        return tables.held.depth(consumer, context_.clock.now());
      });
    });
  }

  int wake_fd() noexcept override { return context_.wake_ups.fd(std::nullopt); }
  int wake_fd(ConsumerNumber consumer) noexcept override { return context_.wake_ups.fd(consumer); }

 private:
  bool any_due(ConsumerNumber consumer) {
    return context_.reader.glance([&](Tables& tables, Connection&) {
      return tables.held.any_due(consumer, context_.clock.now());
    });
  }

  // Takes rows that an older version has parked in their lines out of these.
  std::vector<Bytes> lines_after_mend(ConsumerNumber consumer) {
    WriteTransaction transaction(context_.writer, Sync::kPowerLoss, context_.options.busy);
    HeldRows& held = transaction.tables().held;
    for (const RowTag row : held.parked_in_lines(consumer)) held.park(row);
    auto lines = held.lines().all(consumer);
    transaction.commit();
    return lines;
  }

  // A row that is visible too early or too late after a power cut meets its record.
  template <class Work>
  Result<void> change(std::span<const RowTag> rows, Work&& work, Sync sync = Sync::kProcessCrash) {
    return contained([&] {
      if (rows.empty()) return;
      WriteTransaction transaction(context_.writer, sync, context_.options.busy);
      const StoreTime now = transaction.now();
      for (const RowTag row : rows) work(transaction.tables().held, row, now);
      transaction.commit();
    });
  }

  // The same for those that this store has in hand.
  template <class Work>
  Result<void> change_in_hand(std::span<const RowTag> rows, Work&& work) {
    return change(rows, [&](HeldRows& held, RowTag row, StoreTime now) {
      if (held.in_hand(row, context_.instances.known_number())) work(held, row, now);
    });
  }

  StoreContext& context_;
};

}  // namespace

std::unique_ptr<HeldMessages> make_held(StoreContext& context) {
  return std::make_unique<Held>(context);
}

}  // namespace semel::sqlite
