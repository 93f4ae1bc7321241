// HeldLines: the order of held rows within their lines.
//
// Only the first row of a line is due; those behind it show when it goes. What is taken by one
// process may be followed by what stands behind it, taken by the same one.
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

// Due never: kept for a person, counted nowhere as waiting. Each database has such a time, and who
// reads the table sees what it means.
inline constexpr StoreTime kNever{
    std::chrono::sys_days(std::chrono::year(9999) / std::chrono::December / 31)};
// Due when what stands before it in its line has gone.
inline constexpr StoreTime kBehind{kNever - std::chrono::days(1)};

// Where a row stands in its line.
struct Seat {
  std::int64_t place = 0;
  std::int64_t bytes = 0;  // payloads of the line up to this one
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
  // A row of it was taken, or put behind, where it stood.
  void note(RowTag row, std::optional<std::int64_t> taken_by, StoreTime due);
};

// Names in one statement that asks for the ends of lines.
inline constexpr std::size_t kLinesAtOnce = 16;

// Lines by name, as they stand while their consumer is locked.
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
  Text lock, ends, join, waits, put_behind, show_first, all;
};

// For one transaction.
class HeldLines {
 public:
  HeldLines(Session& session, const LineTexts& texts) : session_(session), texts_(texts) {}

  // Until the transaction ends, no row of the consumer's lines comes, goes or changes but by this
  // session. To be had before any of these is decided: else one process puts a row behind the last
  // of its line while another lets that last one go, and nobody shows it again. And before any lock
  // on a row that is in a line, in the order of stores/sql/lock.h: else two may wait for each
  // other.
  void lock(ConsumerNumber consumer);
  bool locked(ConsumerNumber consumer) const { return locked_.contains(consumer); }

  // Those of `names` that have rows.
  void find(ConsumerNumber consumer, std::span<const Bytes> names, Lines& found);
  // Seats rows that are in no line. All of them are taken, or all are behind.
  void join(std::span<const Joining> rows, std::optional<std::int64_t> taken_by, StoreTime due);
  // True where the row may not be had yet by this process: not all before it is in its hand.
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
