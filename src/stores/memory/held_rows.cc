#include "stores/memory/held_rows.h"

#include <algorithm>

namespace semel::memory {

using std::chrono::milliseconds;

void HeldRows::ring(ConsumerNumber consumer) {
  bell_.ring();
  queues_[consumer].bell.ring();
}

void HeldRows::line_up(std::int64_t number, const HeldRow& row) {
  Queue& queue = queues_[row.consumer];
  if (row.hidden_until) {
    queue.hidden.emplace(*row.hidden_until, number);
  } else {
    queue.shown.emplace(row.due, number);
  }
}

void HeldRows::leave(std::int64_t number, const HeldRow& row) {
  Queue& queue = queues_[row.consumer];
  if (row.hidden_until) {
    queue.hidden.erase({*row.hidden_until, number});
  } else {
    queue.shown.erase({row.due, number});
  }
}

void HeldRows::add(HeldRow row) {
  const std::int64_t number = ++last_;
  HeldRow& kept = rows_[number] = std::move(row);
  kept.hidden_until.reset();
  if (kept.id) by_key_.emplace(*kept.id, number);
  line_up(number, kept);
  ring(kept.consumer);
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

std::vector<Arrival> HeldRows::take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden, StoreTime now) {
  Queue& queue = queues_[consumer];
  show_expired(queue, now);
  std::vector<Arrival> taken;
  std::size_t bytes = 0;
  while (!queue.shown.empty() && queue.shown.begin()->first <= now && taken.size() < max_messages &&
         bytes < max_bytes) {
    const std::int64_t number = queue.shown.begin()->second;
    HeldRow& row = rows_.at(number);
    leave(number, row);
    row.hidden_until = now + hidden;
    line_up(number, row);
    Arrival arrival = row.content;
    arrival.row = RowTag{number};
    arrival.tag = {static_cast<std::uint64_t>(number), 0};
    if (row.first_seen) arrival.since_first = now - *row.first_seen;
    bytes += arrival.payload.size();
    taken.push_back(std::move(arrival));
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
  leave(number, row);
  row.hidden_until.reset();
  // What goes back without delay stands again where it stood: its order is kept.
  if (delay.count() > 0) row.due = now + delay;
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

std::optional<HeldRow> HeldRows::remove(RowTag tag) {
  const auto number = static_cast<std::int64_t>(tag);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return std::nullopt;
  leave(number, found->second);
  HeldRow row = std::move(found->second);
  rows_.erase(found);
  if (row.id) {
    const auto [first, last] = by_key_.equal_range(*row.id);
    by_key_.erase(std::find_if(first, last, [&](const auto& e) { return e.second == number; }));
  }
  return row;
}

void HeldRows::remove_key(const KeyId& id) {
  for (auto at = by_key_.find(id); at != by_key_.end(); at = by_key_.find(id)) {
    remove(RowTag{at->second});
  }
}

HeldMessages::Depth HeldRows::depth(ConsumerNumber consumer, StoreTime now) const {
  HeldMessages::Depth depth;
  const auto queue = queues_.find(consumer);
  if (queue == queues_.end()) return depth;
  const auto& [shown, hidden, bell] = queue->second;
  depth.rows = shown.size() + hidden.size();
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
  return queue == queues_.end() ? 0 : queue->second.shown.size() + queue->second.hidden.size();
}

}  // namespace semel::memory
