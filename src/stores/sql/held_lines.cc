#include "stores/sql/held_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "stores/sql/many.h"

namespace semel::sql {
namespace {

// After the consumer in the parameters.
constexpr std::size_t kFirstName = 2;

// A union of the ends of each line: an index finds them, however long a line is.
std::string text_of_ends() {
  std::string text;
  for (std::size_t i = 0; i < kLinesAtOnce; ++i) {
    for (const char* order : {"place", "place DESC"}) {
      if (!text.empty()) text += " UNION ALL ";
      text +=
          "(SELECT line, row_id, place, line_bytes, octet_length(payload) AS size, taken_by, "
          "due_at "
          "FROM semel_held WHERE consumer = ?1 AND line = ?" +
          std::to_string(kFirstName + i) + " ORDER BY " + order + " LIMIT 1)";
    }
  }
  return text;
}

std::string text_of_before(const std::string& order) {
  return "(SELECT taken_by, due_at FROM semel_held WHERE consumer = ?1 AND line = ?2 AND place < "
         "(SELECT place FROM semel_held WHERE row_id = ?3) ORDER BY " +
         order + " LIMIT 1)";
}

std::string number_of(std::size_t parameter) { return "?" + std::to_string(parameter); }

// The parameters of `join`: the rows first, then their lines, places and bytes, kMany of each, and
// last the values that all rows get.
std::string value_for_each_row(std::size_t first_value) {
  std::string text = "CASE row_id";
  for (std::size_t i = 0; i < kMany; ++i) {
    text += " WHEN " + number_of(1 + i) + " THEN " + number_of(first_value + i);
  }
  return text + " END";
}

std::string text_of_join() {
  return "UPDATE semel_held SET line = " + value_for_each_row(1 + kMany) +
         ", place = " + value_for_each_row(1 + 2 * kMany) +
         ", line_bytes = " + value_for_each_row(1 + 3 * kMany) +
         ", taken_by = " + number_of(1 + 4 * kMany) + ", due_at = " + number_of(2 + 4 * kMany) +
         " WHERE row_id IN " + list();
}

void queue_joins(Session& session, const SqlText& text, std::span<const Joining> rows,
                 std::optional<std::int64_t> taken_by, StoreTime due) {
  const auto row = [&](std::size_t i) -> const Joining& {
    return rows[std::min(i, rows.size() - 1)];
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    session.queue(text, {Param(row(I).row)..., Param(row(I).line)..., Param(row(I).seat.place)...,
                         Param(row(I).seat.bytes)..., Param(taken_by), Param(due)});
  }
  (std::make_index_sequence<kMany>());
}

Answer ask_ends(Session& session, const SqlText& text, ConsumerNumber consumer,
                std::span<const Bytes> names) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return session.ask(text, {Param(consumer), Param(names[std::min(I, names.size() - 1)])...});
  }
  (std::make_index_sequence<kLinesAtOnce>());
}

}  // namespace

std::size_t Line::bytes() const noexcept {
  // Each row stores the bytes of its line up to itself.
  const std::int64_t bytes = last.seat.bytes - first.seat.bytes + first.size;
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
}

void Line::note(RowTag row, std::optional<std::int64_t> taken_by, StoreTime due) {
  for (LineEnd* end : {&first, &last}) {
    if (end->row != row) continue;
    end->taken_by = taken_by;
    end->due = due;
  }
}

Seat seat_behind(const Line* line, RowTag row, std::size_t size) {
  Seat seat{static_cast<std::int64_t>(row), static_cast<std::int64_t>(size)};
  if (line == nullptr) return seat;
  seat.place = std::max(seat.place, line->last.seat.place + 1);
  seat.bytes += line->last.seat.bytes;
  return seat;
}

LineTexts::LineTexts(const Dialect& dialect)
    : lock(dialect, "SELECT number FROM semel_consumer WHERE number = ?1 FOR UPDATE"),
      ends(dialect, text_of_ends()),
      join(dialect, text_of_join()),
      waits(dialect, text_of_before("place") + " UNION ALL " + text_of_before("place DESC")),
      put_behind(dialect, "UPDATE semel_held SET due_at = " + std::string(kAfterMany) +
                              ", taken_by = NULL WHERE row_id IN " + list()),
      show_first(dialect, "UPDATE semel_held SET due_at = ready_at WHERE row_id IN " + list() +
                              " AND due_at = " + std::string(kAfterMany)),
      all(dialect,
          "SELECT DISTINCT line FROM semel_held WHERE consumer = ?1 AND line IS NOT NULL") {}

void HeldLines::lock(ConsumerNumber consumer) {
  if (locked_.insert(consumer).second) session_.ask(texts_.lock, {consumer});
}

void HeldLines::find(ConsumerNumber consumer, std::span<const Bytes> names, Lines& found) {
  for (; !names.empty(); names = names.subspan(std::min(kLinesAtOnce, names.size()))) {
    const auto part = names.first(std::min(kLinesAtOnce, names.size()));
    Answer answer = ask_ends(session_, texts_.ends, consumer, part);
    while (answer.next()) {
      LineEnd end;
      end.row = RowTag{answer.integer(1)};
      end.seat = {answer.integer(2), answer.integer(3)};
      end.size = answer.integer(4);
      end.taken_by = answer.maybe_integer(5);
      end.due = answer.time(6);
      // The rows of a union have no order.
      const auto [line, fresh] = found.try_emplace(answer.bytes(0), Line{end, end});
      if (end.seat.place < line->second.first.seat.place) line->second.first = end;
      if (end.seat.place > line->second.last.seat.place) line->second.last = end;
    }
  }
}

void HeldLines::join(std::span<const Joining> rows, std::optional<std::int64_t> taken_by,
                     StoreTime due) {
  in_parts(rows, [&](std::span<const Joining> part) {
    queue_joins(session_, texts_.join, part, taken_by, due);
  });
}

// Looking at two rows is enough: rows between the first one and the direct predecessor were held by
// this process when the predecessor was taken, and leave its hands only together with all rows
// behind them.
bool HeldLines::waits(RowTag row, ConsumerNumber consumer, BytesView line, std::int64_t instance,
                      StoreTime now) {
  Answer answer = session_.ask(texts_.waits, {consumer, line, row});
  while (answer.next()) {
    if (answer.maybe_integer(0) != instance || answer.time(1) <= now) return true;
  }
  return false;
}

void HeldLines::put_behind(std::span<const RowTag> rows) {
  in_parts(rows, [&](std::span<const RowTag> part) {
    queue_many(session_, texts_.put_behind, part, kBehind);
  });
}

void HeldLines::show_first(std::span<const RowTag> rows) {
  in_parts(rows, [&](std::span<const RowTag> part) {
    queue_many(session_, texts_.show_first, part, kBehind);
  });
}

std::vector<Bytes> HeldLines::all(ConsumerNumber consumer) {
  std::vector<Bytes> lines;
  Answer answer = session_.ask(texts_.all, {consumer});
  while (answer.next()) lines.push_back(answer.bytes(0));
  return lines;
}

}  // namespace semel::sql
