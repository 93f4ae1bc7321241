// Waiting payloads: the table behind HeldMessages, for one process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/delivery.h>
#include <semel/spi/held_messages.h>

#include "stores/memory/bell.h"

namespace semel::memory {

struct HeldRow {
  ConsumerNumber consumer{};
  Arrival content;  // row, tag, since_first: set when it is taken
  std::optional<StoreTime> first_seen;
  StoreTime due{};
  StoreTime sent{};  // where it is due at once
  std::optional<StoreTime> hidden_until;
  bool taken = false;                 // and neither given back nor put behind since
  std::optional<std::int64_t> place;  // in its line; kept when it is held again, and not parked
  bool behind = false;                // others of its line are before it: it is not visible
  bool parked = false;                // due when a person says so; in no line
};

// How a row waits again.
struct HeldMove {
  bool parked = false;
  StoreTime due{};
  int attempts = 0;
  StoreTime first_seen{};    // used where the row has none
  std::optional<Bytes> key;  // of the record that it is held for
  Fingerprint fingerprint;   // with the key
};

class HeldRows {
 public:
  std::int64_t add(HeldRow row);
  std::vector<Arrival> take(ConsumerNumber consumer, std::size_t max_messages,
                            std::size_t max_bytes, std::chrono::milliseconds hidden, StoreTime now,
                            const LineOf& line_of);
  HeldMessages::Place hold_behind(HeldRow row, std::size_t most_bytes);
  std::vector<Bytes> lines(ConsumerNumber consumer) const;
  void release(RowTag tag, std::chrono::milliseconds delay, StoreTime now);
  void extend(RowTag tag, std::chrono::milliseconds hidden, StoreTime now);
  // Makes a row wait, unchanged and under its number; parked: until a person decides.
  void wait(RowTag tag, bool parked, StoreTime due);
  // Null where there is no such row.
  const HeldRow* find(RowTag tag) const;
  void remove(RowTag tag);
  // Makes a row wait again, at its place and under a new number: a late ack of the old one must not
  // end it. nullopt where there is no such row.
  std::optional<std::int64_t> move(RowTag tag, const HeldMove& how);

  HeldMessages::Depth depth(ConsumerNumber consumer, StoreTime now) const;
  std::size_t count(ConsumerNumber consumer) const;

  // Readable when a row may have been added: for all, or for one consumer, whose own takes drain
  // it.
  int wake_fd() const noexcept { return bell_.fd(); }
  int wake_fd(ConsumerNumber consumer) { return queues_[consumer].bell.fd(); }

 private:
  using Place = std::pair<StoreTime, std::int64_t>;
  struct Queue {
    std::set<Place> shown;   // by due
    std::set<Place> hidden;  // by end of hiding
    std::size_t behind = 0;
    Bell bell;
  };
  struct Line {
    std::map<std::int64_t, std::int64_t> rows;  // from place to number
    std::size_t bytes = 0;                      // of their payloads
  };
  Arrival hand_out(std::int64_t number, std::chrono::milliseconds hidden, StoreTime now);
  void join(std::int64_t number, HeldRow& row);
  bool waits(std::int64_t number, const HeldRow& row, StoreTime now) const;
  void put_behind(std::int64_t number, HeldRow& row);
  void leave_line(const HeldRow& row);
  void leave_for_good(HeldRow& row);
  void line_up(std::int64_t number, const HeldRow& row);
  void ring(ConsumerNumber consumer);
  void leave(std::int64_t number, const HeldRow& row);
  void show_expired(Queue& queue, StoreTime now);
  std::optional<std::int64_t> next_due(const Queue& queue, StoreTime now) const;

  std::map<std::int64_t, HeldRow> rows_;
  std::map<ConsumerNumber, Queue> queues_;
  std::map<std::pair<ConsumerNumber, Bytes>, Line> lines_;  // none of them empty
  std::int64_t last_ = 0;
  Bell bell_;
};

}  // namespace semel::memory
