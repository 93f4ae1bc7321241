// HeldRows: the table of payloads that wait.
//
// A row is visible from its due time on. Taking it moves the due time forward and notes the taker.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <semel/spi/finish.h>
#include <semel/spi/held_messages.h>

#include "stores/sql/held_arrivals.h"
#include "stores/sql/held_content.h"
#include "stores/sql/held_lines.h"
#include "stores/sql/wake_ups.h"

namespace semel::sql {

// The most rows in one look.
inline constexpr std::size_t kLook = 256;

struct HeldTexts {
  explicit HeldTexts(const Dialect& dialect);
  LineTexts lines;
  SqlText add, due, due_numbers, any_due, behind, take, taken, release, release_later, hide, free,
      whose, lined, remove, find, payload, inbox, move, park, parked_in_lines, there, consumers,
      taken_from, show, peek, depth, backlog;
};

// For one transaction. Waiting processes are woken about new rows by its commit.
class HeldRows {
 public:
  static constexpr StoreTime kNeverDue = kNever;

  HeldRows(Session& session, const HeldTexts& texts, WakeUps& wake_ups)
      : session_(session), texts_(texts), wake_ups_(wake_ups), lines_(session, texts.lines) {}

  // A row with a line is added at the line's end.
  std::int64_t add(const HeldContent& content, StoreTime now);
  // A new row's number, for a row whose seat is looked for before it is added.
  RowTag next() { return RowTag{session_.next_number(Counter::kHeld)}; }
  // Adds a row at a seat of its line, behind others.
  void add_behind(const HeldContent& content, RowTag row, const Seat& seat, StoreTime now);

  struct Due {
    std::vector<Arrival> rows;
    bool all = true;  // nothing else was due
  };
  // Due rows, in their order, locked; rows that others have locked are skipped.
  Due due(ConsumerNumber consumer, std::size_t max_messages, std::size_t max_bytes, StoreTime now);
  // The first due rows in the same order, including those that others have locked. Locks nothing.
  std::vector<RowTag> due_numbers(ConsumerNumber consumer, std::size_t most, StoreTime now);
  bool any_due(ConsumerNumber consumer, StoreTime now);
  // Rows directly behind this one that wait for nothing else, in order.
  std::vector<Arrival> behind(RowTag row, ConsumerNumber consumer, BytesView line,
                              std::size_t max_messages, std::size_t max_bytes, StoreTime now);
  void take(std::span<const RowTag> rows, std::int64_t instance, StoreTime until);
  // The rows that were taken in this way. Locks nothing.
  std::vector<RowTag> taken(ConsumerNumber consumer, std::int64_t instance, StoreTime until);
  HeldLines& lines() noexcept { return lines_; }

  // Locks held rows, and the consumers of those in lines, in the order of stores/sql/lock.h; and
  // the consumers that get new rows in their lines. Each change does it for its own rows; a
  // transaction with several changes does it for all of them before the first.
  void lock(std::span<const RowTag> rows, std::set<ConsumerNumber> lines = {});

  // `by`, here and in hide: leaves alone what none of these instances took, and what was taken or
  // shown again since; null: changes all.
  void release(std::span<const RowTag> rows, std::chrono::milliseconds delay, StoreTime now,
               const std::set<std::int64_t>* by = nullptr);
  void release(RowTag row, std::chrono::milliseconds delay, StoreTime now) {
    release({&row, 1}, delay, now);
  }
  // Continues to hide taken rows; a row that is visible again is free for all.
  void hide(std::span<const RowTag> rows, StoreTime until, StoreTime now,
            const std::set<std::int64_t>* by = nullptr);
  struct Gone {
    RowTag row{};
    std::optional<std::int64_t> inbox;
  };
  // Removes and returns those of `rows` that exist.
  std::vector<Gone> take_out(std::span<const RowTag> rows);
  std::optional<Gone> take_out(RowTag row);
  // The tried ones among `rows`.
  std::vector<TriedRow> tried(std::span<const RowTag> rows);
  std::optional<TriedRow> tried(RowTag row);
  // Makes it visible at `due`, taken by no process. It keeps its number.
  void wait(RowTag row, StoreTime due);
  // Makes it wait for a person, in no line: it delays no other row. It keeps its number.
  void park(RowTag row);
  // Rows that an older version has parked in their lines.
  std::vector<RowTag> parked_in_lines(ConsumerNumber consumer);
  std::optional<std::int64_t> inbox_of(RowTag row);
  std::optional<Arrival> find(RowTag row, StoreTime now);

  using Move = HeldMove;
  // Makes a row wait again, under a new number: a late ack of the old one must not end it. nullopt
  // where there is no such row. If it leaves its line, the next one becomes visible.
  std::optional<std::int64_t> move(RowTag row, const Move& move);
  // Shows the rows that a dead process had taken, marked suspect; returns how many.
  std::int64_t show_again(std::int64_t instance, StoreTime now);

  HeldMessages::Peek peek(ConsumerNumber consumer, StoreTime now);
  HeldMessages::Depth depth(ConsumerNumber consumer, StoreTime now);
  struct Backlog {
    std::size_t rows = 0;
    std::optional<StoreTime> oldest;  // when the one with the lowest number was first met
    std::optional<StoreTime> newest;  // when the one with the highest number was added
  };
  // Reads these two rows alone, and counts the others in an index.
  Backlog backlog(ConsumerNumber consumer);

 private:
  struct Standing;
  void insert(const HeldContent& content, StoreTime due, const std::optional<Seat>& seat,
              RowTag row, StoreTime now);
  Arrival whole(FoundArrival found);
  std::vector<Standing> standing(std::span<const RowTag> rows);
  std::vector<Standing> in_hand(std::span<const RowTag> rows, const std::set<std::int64_t>* by);
  void add_lined(std::span<const RowTag> rows, std::vector<Standing>& found);
  // The consumer of a row; nullopt where it does not exist.
  std::optional<ConsumerNumber> consumer_of(RowTag row);
  void forget(RowTag row);
  // Shows the first rows of the lines that these rows have left.
  void move_up(std::span<const Standing> gone);
  std::vector<RowTag> taken_from(ConsumerNumber consumer, std::int64_t instance);
  void ring(ConsumerNumber consumer);

  Session& session_;
  const HeldTexts& texts_;
  WakeUps& wake_ups_;
  HeldLines lines_;
  // Rows given to lock(): those found in no line are locked, and exist until they are removed here.
  // For those found in lines their consumer is locked, and they may have been removed before.
  struct Free {
    ConsumerNumber consumer{};
    std::optional<std::int64_t> inbox;
    std::optional<Bytes> key;  // if it was tried
    std::optional<std::int64_t> taken_by;
  };
  std::set<RowTag> asked_;
  std::map<RowTag, Free> free_;
  std::map<RowTag, ConsumerNumber> lined_;
  std::set<ConsumerNumber> rung_;
};

}  // namespace semel::sql
