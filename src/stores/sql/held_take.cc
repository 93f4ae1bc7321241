#include "stores/sql/held_take.h"

#include <algorithm>
#include <set>
#include <utility>

namespace semel::sql {
namespace {

// How many rows behind one that shows are taken with it, at most: a long line is not all of a take.
constexpr std::size_t kWithTheFirst = 32;

}  // namespace

// Each row looked at is due no more after it: taken, or put behind.
std::optional<std::vector<Arrival>> HeldTake::run(const LineOf& line_of) {
  while (!full()) {
    auto due = held_.due(wanted_.consumer, wanted_.max_messages - taken_.size(),
                         wanted_.max_bytes - bytes_, wanted_.now);
    const bool lined =
        std::ranges::any_of(due.rows, [](const Arrival& a) { return a.line.has_value(); });
    if (lined && !held_.lines().locked(wanted_.consumer)) return std::nullopt;
    for (Looked& row : in_line(std::move(due.rows), line_of)) {
      if (full()) break;
      look_at(std::move(row));
    }
    if (due.all) break;
  }
  return std::move(taken_);
}

// What stands in the lines of all rows of a look is asked at once.
std::vector<HeldTake::Looked> HeldTake::in_line(std::vector<Arrival> rows, const LineOf& line_of) {
  std::vector<Looked> looked;
  std::set<Bytes> names;
  for (Arrival& arrival : rows) {
    const bool fresh = !arrival.line && line_of;
    if (fresh) arrival.line = line_of(arrival);
    if (arrival.line && !lines_.contains(*arrival.line)) names.insert(*arrival.line);
    looked.push_back({std::move(arrival), fresh});
  }
  const std::vector<Bytes> asked(names.begin(), names.end());
  held_.lines().find(wanted_.consumer, asked, lines_);
  return looked;
}

void HeldTake::look_at(Looked row) {
  if (!row.arrival.line) return take(std::move(row.arrival), nullptr);
  if (row.fresh) return join(std::move(row.arrival));
  const RowTag number = *row.arrival.row;
  auto& [name, line] = *lines_.find(*row.arrival.line);
  if (line.first.row != number &&
      held_.lines().waits(number, wanted_.consumer, name, wanted_.instance, wanted_.now)) {
    held_.lines().put_behind(number);
    line.note(number, std::nullopt, kBehind);
    return;
  }
  take(std::move(row.arrival), &line);
  if (line.last.row == number) return;
  const std::size_t most = std::min(kWithTheFirst, wanted_.max_messages - taken_.size());
  if (full()) return;
  for (Arrival& next : held_.behind(number, wanted_.consumer, name, most,
                                    wanted_.max_bytes - bytes_, wanted_.now)) {
    take(std::move(next), &line);
  }
}

void HeldTake::join(Arrival arrival) {
  const auto known = lines_.find(*arrival.line);
  Line* const line = known != lines_.end() ? &known->second : nullptr;
  LineEnd end;
  end.row = *arrival.row;
  end.seat = seat_behind(line, end.row, arrival.payload.size());
  end.size = static_cast<std::int64_t>(arrival.payload.size());
  const auto mine = [&](const LineEnd& other) {
    return other.in_hand(wanted_.instance, wanted_.now);
  };
  const bool waits = line != nullptr && !(mine(line->first) && mine(line->last));
  if (!waits) end.taken_by = wanted_.instance;
  end.due = waits ? kBehind : wanted_.until;
  held_.lines().join(end.row, *arrival.line, end.seat, end.taken_by, end.due);
  if (line != nullptr) {
    line->last = end;
  } else {
    lines_.emplace(*arrival.line, Line{end, end});
  }
  if (!waits) add(std::move(arrival));
}

void HeldTake::take(Arrival arrival, Line* line) {
  held_.take(*arrival.row, wanted_.instance, wanted_.until);
  if (line != nullptr) line->note(*arrival.row, wanted_.instance, wanted_.until);
  add(std::move(arrival));
}

void HeldTake::add(Arrival arrival) {
  bytes_ += arrival.payload.size();
  taken_.push_back(std::move(arrival));
}

}  // namespace semel::sql
