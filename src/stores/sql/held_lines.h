// HeldLines: the order of held rows within their lines.
//
// Only the first row of a line is due; the next ones become visible when it is removed. After a
// process takes a row, the same process may take the rows behind it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/delivery.h>

#include "stores/sql/session.h"

namespace semel::sql {

// Never due: kept for a person, and not counted as waiting. Each database can store this time, and
// readers of the table recognise it.
inline constexpr StoreTime kNever{
    std::chrono::sys_days(std::chrono::year(9999) / std::chrono::December / 31)};
// Due when the rows before it in its line are gone.
inline constexpr StoreTime kBehind{kNever - std::chrono::days(1)};

// A row's place in its line.
struct Seat {
  std::int64_t place = 0;
  std::int64_t bytes = 0;  // payloads of the line up to and with this one
};

// A row at an end of its line.
struct LineEnd {
  RowTag row{};
  Seat seat;
  std::int64_t size = 0;  // of its payload
  std::optional<std::int64_t> taken_by;
  StoreTime due{};

  bool in_hand(std::int64_t instance, StoreTime now) const {
    return taken_by == instance && due > now;
  }
};

// A line that has rows.
struct Line {
  LineEnd first;
  LineEnd last;

  std::size_t bytes() const noexcept;
  // Notes that a row of the line was taken, or put behind, at its place.
  void note(RowTag row, std::optional<std::int64_t> taken_by, StoreTime due);
};

// The most lines in one statement that asks for their ends.
inline constexpr std::size_t kLinesAtOnce = 16;

// Lines by name, valid while their consumer is locked.
using Lines = std::map<Bytes, Line, std::less<>>;

// The end of `line`, for a row of that many bytes.
Seat seat_behind(const Line* line, RowTag row, std::size_t size);

// A row that gets a seat in a line.
struct Joining {
  RowTag row{};
  Bytes line;
  Seat seat;
};

struct LineTexts {
  explicit LineTexts(const Dialect& dialect);
  SqlText lock, ends, join, waits, put_behind, show_first, all;
};

// For one transaction.
class HeldLines {
 public:
  HeldLines(Session& session, const LineTexts& texts) : session_(session), texts_(texts) {}

  // Until the transaction ends, only this session adds, removes or changes rows of the consumer's
  // lines. Call it before any of these is decided: otherwise one process puts a row behind the last
  // of its line while another removes that last one, and the new row never becomes visible. Call it
  // also before any lock on a row that is in a line, in the order of stores/sql/lock.h: otherwise
  // two may deadlock.
  void lock(ConsumerNumber consumer);
  bool locked(ConsumerNumber consumer) const { return locked_.contains(consumer); }

  // Adds to `found` those of `names` that have rows.
  void find(ConsumerNumber consumer, std::span<const Bytes> names, Lines& found);
  // Gives seats to rows that are in no line. Either all of them are taken, or all are behind.
  void join(std::span<const Joining> rows, std::optional<std::int64_t> taken_by, StoreTime due);
  // True where this process may not have the row yet: it does not hold all rows before it.
  bool waits(RowTag row, ConsumerNumber consumer, BytesView line, std::int64_t instance,
             StoreTime now);
  void put_behind(std::span<const RowTag> rows);
  // Shows these rows if they were hidden: their predecessors are gone.
  void show_first(std::span<const RowTag> rows);
  std::vector<Bytes> all(ConsumerNumber consumer);

 private:
  Session& session_;
  const LineTexts& texts_;
  std::set<ConsumerNumber> locked_;
};

}  // namespace semel::sql
