// HeldRows: the table of payloads that wait.
//
// A row is visible from its due time on. Taking it moves the due time forward and notes the taker.
//
// stores/sql has such rows for servers. There sessions run concurrently: a row and its line are
// locked and read before they change, and statements name many rows at a time, to save round trips.
// Here one writer has the whole file, so one statement removes a row and returns its content. The
// queue depends on that: it is most of the cost of a message from it, and reading and removing by
// lists of numbers, as a server needs, cost a multiple of it. For the same reason single statements
// decide a take and a line here. The times that mean "never due" differ too, and are stored in
// files.
// files.
#pragma once

#include <optional>
#include <vector>

#include <semel/spi/finish.h>
#include <semel/spi/held_messages.h>

#include "stores/sql/held_content.h"
#include "stores/sqlite/held_lines.h"
#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

using sql::HeldContent;

class HeldRows {
 public:
  static constexpr StoreTime kNeverDue = kNever;

  explicit HeldRows(Connection& connection);

  std::int64_t add(const HeldContent& content, StoreTime now);
  // Due rows, in their order.
  std::vector<Arrival> due(ConsumerNumber consumer, std::size_t max_messages, std::size_t max_bytes,
                           StoreTime now);
  bool any_due(ConsumerNumber consumer, StoreTime now);
  void take(RowTag row, std::int64_t instance, StoreTime until);
  // Whether the instance took it, and nobody has taken it or shown it again since.
  bool in_hand(RowTag row, std::int64_t instance);
  HeldLines& lines() noexcept { return lines_; }
  void release(RowTag row, std::chrono::milliseconds delay, StoreTime now);
  // Continues to hide a taken row; a row that is visible again is free for all.
  void hide(RowTag row, StoreTime until, StoreTime now);
  bool remove(RowTag row) { return take_out(row).has_value(); }
  struct Gone {
    std::optional<std::int64_t> inbox;
  };
  std::optional<Gone> take_out(RowTag row);
  // nullopt where it was not tried.
  std::optional<sql::TriedRow> tried(RowTag row);
  // Makes it visible at `due`, taken by no process. It keeps its number.
  void wait(RowTag row, StoreTime due);
  // Makes it wait for a person, in no line: it delays no other row. It keeps its number.
  void park(RowTag row);
  // Rows that an older version has parked in their lines.
  std::vector<RowTag> parked_in_lines(ConsumerNumber consumer);
  std::optional<std::int64_t> inbox_of(RowTag row);
  std::optional<Arrival> find(RowTag row, StoreTime now);

  using Move = sql::HeldMove;
  // Makes a row wait again, under a new number: a late ack of the old one must not end it. nullopt
  // where there is no such row. If it leaves its line, the next one becomes visible.
  std::optional<std::int64_t> move(RowTag row, const Move& move);
  // Shows the rows that a dead process had taken, marked suspect; returns how many.
  std::int64_t show_again(std::int64_t instance, StoreTime now);

  HeldMessages::Peek peek(ConsumerNumber consumer, StoreTime now);
  HeldMessages::Depth depth(ConsumerNumber consumer, StoreTime now);
  std::size_t count(ConsumerNumber consumer);
  struct Backlog {
    std::size_t rows = 0;
    std::optional<StoreTime> oldest;  // when the one with the lowest number was first met
    std::optional<StoreTime> newest;  // when the one with the highest number was added
  };
  // Reads these two rows alone, and counts the others in an index.
  Backlog backlog(ConsumerNumber consumer);

 private:
  Arrival arrival_at(const Prepared& row, StoreTime now) const;

  HeldLines lines_;

  Prepared add_;
  Prepared due_;
  Prepared any_due_;
  Prepared take_;
  Prepared in_hand_;
  Prepared release_;
  Prepared release_later_;
  Prepared hide_;
  Prepared remove_;
  Prepared find_;
  Prepared move_;
  Prepared line_;
  Prepared park_;
  Prepared parked_in_lines_;
  Prepared show_;
  Prepared next_;
  Prepared count_;
  Prepared backlog_;
  Prepared inbox_;
  Prepared tried_;
};

}  // namespace semel::sqlite
