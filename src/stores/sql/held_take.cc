#include "stores/sql/held_take.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stores/sql/many.h"

namespace semel::sql {
namespace {

// The most rows taken together with the visible row before them: a long line must not fill a take.
constexpr std::size_t kWithTheFirst = 32;
// Rows that one transaction looks at: it holds the consumer's lock, and others wait for it.
constexpr std::size_t kMostLookedAt = 16 * kLook;
// Payload bytes that one look reads where less is wanted: most of the rows may have to wait.
constexpr std::size_t kLookBytes = 1 << 20;
// The most rows locked by others that one look queries, one by one.
constexpr std::size_t kMostLockedByOthers = 16;

}  // namespace

// After it, no row looked at is due: it was taken or put behind, unless it follows one that another
// session has locked.
std::optional<HeldTake::Taken> HeldTake::run(const LineOf& line_of) {
  const bool in_lines = static_cast<bool>(line_of);
  std::size_t most = look_size(in_lines);
  bool more = false;
  for (std::size_t looked = 0; !full(); most = in_lines ? kLook : look_size(false)) {
    more = looked >= kMostLookedAt;
    if (more) break;
    write();
    left_ = false;
    auto found = look(most, in_lines);
    if (!found) return std::nullopt;
    find_lines(found->rows, line_of);
    for (Looked& row : found->rows) {
      if (full()) break;
      look_at(std::move(row));
    }
    // Due rows that were left come first in the next look too, so that must be larger.
    const bool left = left_ || found->rows.empty();
    if (found->all || (left && most == kLook)) break;
    looked += most;
  }
  write();
  return Taken{std::move(taken_), more};
}

// With lines, a row looked at may have to wait: the places left do not determine the look's size.
std::size_t HeldTake::look_size(bool in_lines) const {
  const std::size_t left = wanted_.max_messages - taken_.size();
  return in_lines ? std::clamp(left, kMany, kLook) : std::min(left, kLook);
}

std::optional<HeldTake::Look> HeldTake::look(std::size_t most, bool in_lines) {
  // The numbers first: of those, the rows missing from the second query are locked by others.
  std::vector<RowTag> numbers;
  if (in_lines) numbers = held_.due_numbers(wanted_.consumer, most, wanted_.now);
  const std::size_t bytes = wanted_.max_bytes - bytes_;
  auto due = held_.due(wanted_.consumer, most, in_lines ? std::max(bytes, kLookBytes) : bytes,
                       wanted_.now);
  const bool lined =
      std::ranges::any_of(due.rows, [](const Arrival& a) { return a.line.has_value(); });
  if (lined && !held_.lines().locked(wanted_.consumer)) return std::nullopt;
  if (in_lines) {
    Look found = in_order(numbers, std::move(due.rows));
    found.all = found.all && due.all && numbers.size() < most;
    return found;
  }
  Look found;
  found.all = due.all;
  for (Arrival& arrival : due.rows) found.rows.push_back({std::move(arrival)});
  return found;
}

// A row locked by others is put among the rest: later rows of its line wait for it. A row that was
// not due when the numbers were queried is left for the next look.
HeldTake::Look HeldTake::in_order(std::span<const RowTag> numbers, std::vector<Arrival> locked) {
  std::map<RowTag, Arrival*> by_number;
  for (Arrival& arrival : locked) by_number.emplace(*arrival.row, &arrival);
  // No row of this look is known to follow those after its last row.
  while (!numbers.empty() && !by_number.contains(numbers.back())) {
    numbers = numbers.first(numbers.size() - 1);
  }
  Look found;
  std::size_t by_others = 0;
  for (const RowTag number : numbers) {
    const auto mine = by_number.find(number);
    if (mine != by_number.end()) {
      found.rows.push_back({std::move(*mine->second)});
      continue;
    }
    if (by_others == kMostLockedByOthers) {
      // All later rows may be of its line.
      left_ = true;
      found.all = false;
      break;
    }
    ++by_others;
    auto theirs = held_.find(number, wanted_.now);
    if (theirs) found.rows.push_back({*std::move(theirs), false, true});
  }
  return found;
}

// The lines of all rows of a look are queried together.
void HeldTake::find_lines(std::vector<Looked>& rows, const LineOf& line_of) {
  std::set<Bytes> names;
  for (Looked& row : rows) {
    Arrival& arrival = row.arrival;
    row.fresh = !arrival.line && line_of;
    if (row.fresh) arrival.line = line_of(arrival);
    if (arrival.line && !lines_.contains(*arrival.line)) names.insert(*arrival.line);
  }
  const std::vector<Bytes> asked(names.begin(), names.end());
  held_.lines().find(wanted_.consumer, asked, lines_);
}

void HeldTake::look_at(Looked row) {
  if (row.by_others) {
    // A row that has a seat keeps it, whichever session has locked it.
    if (row.fresh && row.arrival.line) stopped_.insert(*std::move(row.arrival.line));
    return;
  }
  if (!row.arrival.line) return take(std::move(row.arrival), nullptr);
  if (!row.fresh) return look_in_line(std::move(row.arrival));
  if (stopped_.contains(*row.arrival.line)) {
    left_ = true;
    return;
  }
  join(std::move(row.arrival));
}

void HeldTake::look_in_line(Arrival arrival) {
  const RowTag number = *arrival.row;
  auto& [name, line] = *lines_.find(*arrival.line);
  write();
  if (line.first.row != number &&
      held_.lines().waits(number, wanted_.consumer, name, wanted_.instance, wanted_.now)) {
    putting_behind_.push_back(number);
    line.note(number, std::nullopt, kBehind);
    return;
  }
  take(std::move(arrival), &line);
  if (line.last.row == number || full()) return;
  const std::size_t most = std::min(kWithTheFirst, wanted_.max_messages - taken_.size());
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
  (waits ? joining_behind_ : joining_taken_).push_back({end.row, *arrival.line, end.seat});
  if (line != nullptr) {
    line->last = end;
  } else {
    lines_.emplace(*arrival.line, Line{end, end});
  }
  if (!waits) add(std::move(arrival));
}

void HeldTake::take(Arrival arrival, Line* line) {
  taking_.push_back(*arrival.row);
  if (line != nullptr) line->note(*arrival.row, wanted_.instance, wanted_.until);
  add(std::move(arrival));
}

void HeldTake::add(Arrival arrival) {
  bytes_ += arrival.payload.size();
  taken_.push_back(std::move(arrival));
}

void HeldTake::write() {
  held_.lines().join(joining_behind_, std::nullopt, kBehind);
  held_.lines().join(joining_taken_, wanted_.instance, wanted_.until);
  held_.take(taking_, wanted_.instance, wanted_.until);
  held_.lines().put_behind(putting_behind_);
  joining_behind_.clear();
  joining_taken_.clear();
  taking_.clear();
  putting_behind_.clear();
}

}  // namespace semel::sql
