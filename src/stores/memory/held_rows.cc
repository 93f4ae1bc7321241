#include "stores/memory/held_rows.h"

#include <algorithm>

#include <semel/spi/record_machine.h>

namespace semel::memory {

using std::chrono::milliseconds;

void HeldRows::ring(ConsumerNumber consumer) {
  bell_.ring();
  queues_[consumer].bell.ring();
}

void HeldRows::line_up(std::int64_t number, const HeldRow& row) {
  if (row.parked) return;
  Queue& queue = queues_[row.consumer];
  if (row.behind) {
    ++queue.behind;
  } else if (row.hidden_until) {
    queue.hidden.emplace(*row.hidden_until, number);
  } else {
    queue.shown.emplace(row.due, number);
  }
}

void HeldRows::leave(std::int64_t number, const HeldRow& row) {
  if (row.parked) return;
  Queue& queue = queues_[row.consumer];
  if (row.behind) {
    --queue.behind;
  } else if (row.hidden_until) {
    queue.hidden.erase({*row.hidden_until, number});
  } else {
    queue.shown.erase({row.due, number});
  }
}

std::int64_t HeldRows::add(HeldRow row) {
  const std::int64_t number = ++last_;
  HeldRow& kept = rows_[number] = std::move(row);
  kept.hidden_until.reset();
  kept.taken = false;
  kept.behind = false;
  if (kept.content.line) join(number, kept);
  line_up(number, kept);
  if (!kept.parked) ring(kept.consumer);
  return number;
}

void HeldRows::show_expired(Queue& queue, StoreTime now) {
  while (!queue.hidden.empty() && queue.hidden.begin()->first <= now) {
    const std::int64_t number = queue.hidden.begin()->second;
    HeldRow& row = rows_.at(number);
    leave(number, row);
    row.hidden_until.reset();
    line_up(number, row);
  }
}

// Rows that are due at once are shown first, and are here among the others since they were sent.
std::optional<std::int64_t> HeldRows::next_due(const Queue& queue, StoreTime now) const {
  const auto first = queue.shown.begin();
  const auto timed = queue.shown.upper_bound({spi::kDueAtOnce, last_});
  const bool at_once = first != timed;
  const bool due = timed != queue.shown.end() && timed->first <= now;
  const auto since = [&] { return std::pair(rows_.at(first->second).sent, first->second); };
  if (at_once && !(due && *timed < since())) return first->second;
  return due ? std::optional(timed->second) : std::nullopt;
}

// Puts the row at the end, or at its former place in the line.
void HeldRows::join(std::int64_t number, HeldRow& row) {
  Line& line = lines_[{row.consumer, *row.content.line}];
  if (!row.place) {
    row.place = line.rows.empty() ? number : std::max(number, line.rows.rbegin()->first + 1);
  }
  line.rows[*row.place] = number;
  line.bytes += row.content.payload.size();
}

bool HeldRows::waits(std::int64_t number, const HeldRow& row, StoreTime now) const {
  const Line& line = lines_.at({row.consumer, *row.content.line});
  for (const auto& [place, other] : line.rows) {
    if (other == number) return false;
    const HeldRow& before = rows_.at(other);
    if (!before.hidden_until || *before.hidden_until <= now) return true;
  }
  return false;
}

void HeldRows::put_behind(std::int64_t number, HeldRow& row) {
  leave(number, row);
  row.hidden_until.reset();
  row.taken = false;
  row.behind = true;
  line_up(number, row);
}

// Shows the new first row of the line that it leaves.
void HeldRows::leave_line(const HeldRow& row) {
  if (!row.content.line) return;
  const auto found = lines_.find({row.consumer, *row.content.line});
  Line& line = found->second;
  line.rows.erase(*row.place);
  line.bytes -= row.content.payload.size();
  if (line.rows.empty()) {
    lines_.erase(found);
    return;
  }
  const std::int64_t number = line.rows.begin()->second;
  HeldRow& first = rows_.at(number);
  if (!first.behind) return;
  leave(number, first);
  first.behind = false;
  line_up(number, first);
  ring(first.consumer);
}

// When it waits again, it joins the line at its end.
void HeldRows::leave_for_good(HeldRow& row) {
  leave_line(row);
  row.content.line.reset();
  row.place.reset();
}

HeldMessages::Place HeldRows::hold_behind(HeldRow row, std::size_t most_bytes) {
  const auto line = lines_.find({row.consumer, *row.content.line});
  if (line == lines_.end()) return HeldMessages::Place::kFree;
  if (line->second.bytes + row.content.payload.size() > most_bytes) {
    return HeldMessages::Place::kFull;
  }
  add(std::move(row));
  put_behind(last_, rows_.at(last_));
  return HeldMessages::Place::kHeld;
}

std::vector<Bytes> HeldRows::lines(ConsumerNumber consumer) const {
  std::vector<Bytes> lines;
  for (auto at = lines_.lower_bound({consumer, Bytes()});
       at != lines_.end() && at->first.first == consumer; ++at) {
    lines.push_back(at->first.second);
  }
  return lines;
}

Arrival HeldRows::hand_out(std::int64_t number, milliseconds hidden, StoreTime now) {
  HeldRow& row = rows_.at(number);
  leave(number, row);
  row.behind = false;
  row.taken = true;
  row.hidden_until = now + hidden;
  line_up(number, row);
  Arrival arrival = row.content;
  arrival.row = RowTag{number};
  arrival.tag = {static_cast<std::uint64_t>(number), 0};
  if (row.first_seen) arrival.since_first = now - *row.first_seen;
  return arrival;
}

std::vector<Arrival> HeldRows::take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden, StoreTime now,
                                    const LineOf& line_of) {
  Queue& queue = queues_[consumer];
  show_expired(queue, now);
  std::vector<Arrival> taken;
  std::size_t bytes = 0;
  const auto full = [&] { return taken.size() >= max_messages || bytes >= max_bytes; };
  const auto add = [&](std::int64_t number) {
    taken.push_back(hand_out(number, hidden, now));
    bytes += taken.back().payload.size();
  };
  while (!full()) {
    const auto next_row = next_due(queue, now);
    if (!next_row) break;
    const std::int64_t number = *next_row;
    HeldRow& row = rows_.at(number);
    const bool was_in_line = row.content.line.has_value();
    if (!was_in_line && line_of) {
      row.content.line = line_of(row.content);
      if (row.content.line) join(number, row);
    }
    if (row.content.line && waits(number, row, now)) {
      put_behind(number, row);
      continue;
    }
    add(number);
    if (!was_in_line) continue;
    const Line& line = lines_.at({consumer, *row.content.line});
    for (auto next = line.rows.upper_bound(*row.place);
         next != line.rows.end() && rows_.at(next->second).behind && !full(); ++next) {
      add(next->second);
    }
  }
  bell_.silence();
  queue.bell.silence();
  return taken;
}

void HeldRows::release(RowTag tag, milliseconds delay, StoreTime now) {
  const auto number = static_cast<std::int64_t>(tag);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return;
  HeldRow& row = found->second;
  if (!row.taken) return;
  leave(number, row);
  row.hidden_until.reset();
  row.taken = false;
  // A row that is released without delay returns to its old place, and keeps its order.
  if (delay.count() > 0) row.due = spi::due_after(now, delay);
  row.behind = delay.count() == 0 && row.content.line &&
               lines_.at({row.consumer, *row.content.line}).rows.begin()->second != number;
  line_up(number, row);
  ring(row.consumer);
}

void HeldRows::extend(RowTag tag, milliseconds hidden, StoreTime now) {
  const auto number = static_cast<std::int64_t>(tag);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return;
  HeldRow& row = found->second;
  if (!row.hidden_until || *row.hidden_until <= now) return;
  leave(number, row);
  row.hidden_until = now + hidden;
  line_up(number, row);
}

void HeldRows::wait(RowTag tag, bool parked, StoreTime due) {
  const auto number = static_cast<std::int64_t>(tag);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return;
  HeldRow& row = found->second;
  leave(number, row);
  row.hidden_until.reset();
  row.taken = false;
  row.behind = false;
  if (parked) leave_for_good(row);
  row.parked = parked;
  row.due = due;
  line_up(number, row);
  if (!parked) ring(row.consumer);
}

const HeldRow* HeldRows::find(RowTag tag) const {
  const auto found = rows_.find(static_cast<std::int64_t>(tag));
  return found == rows_.end() ? nullptr : &found->second;
}

void HeldRows::remove(RowTag tag) {
  const auto number = static_cast<std::int64_t>(tag);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return;
  leave(number, found->second);
  const HeldRow row = std::move(found->second);
  rows_.erase(found);
  leave_line(row);
}

std::optional<std::int64_t> HeldRows::move(RowTag tag, const HeldMove& how) {
  const auto found = rows_.find(static_cast<std::int64_t>(tag));
  if (found == rows_.end()) return std::nullopt;
  leave(found->first, found->second);
  const std::int64_t number = ++last_;
  HeldRow& row = rows_[number] = std::move(found->second);
  rows_.erase(found);
  if (row.content.line) lines_.at({row.consumer, *row.content.line}).rows[*row.place] = number;
  row.hidden_until.reset();
  row.taken = false;
  row.behind = false;
  if (how.parked) leave_for_good(row);
  row.parked = how.parked;
  row.due = how.due;
  row.content.attempts = how.attempts;
  if (!row.first_seen) row.first_seen = how.first_seen;
  if (how.key) {
    row.content.key = how.key;
    row.content.fingerprint = how.fingerprint;
  }
  line_up(number, row);
  if (!row.parked) ring(row.consumer);
  return number;
}

HeldMessages::Depth HeldRows::depth(ConsumerNumber consumer, StoreTime now) const {
  HeldMessages::Depth depth;
  const auto queue = queues_.find(consumer);
  if (queue == queues_.end()) return depth;
  const auto& [shown, hidden, behind, bell] = queue->second;
  depth.rows = shown.size() + hidden.size() + behind;
  const auto due_at = [&](StoreTime at) {
    const milliseconds in = std::max(milliseconds(0), at - now);
    depth.next_due = depth.next_due ? std::min(*depth.next_due, in) : in;
  };
  if (!shown.empty()) due_at(shown.begin()->first);
  if (!hidden.empty()) due_at(hidden.begin()->first);
  return depth;
}

std::size_t HeldRows::count(ConsumerNumber consumer) const {
  const auto queue = queues_.find(consumer);
  if (queue == queues_.end()) return 0;
  const Queue& found = queue->second;
  return found.shown.size() + found.hidden.size() + found.behind;
}

}  // namespace semel::memory
