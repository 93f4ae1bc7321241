#include "stores/sql/held_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <semel/spi/record_machine.h>

#include "core/headers_text.h"
#include "stores/sql/due_order.h"
#include "stores/sql/held_arrivals.h"
#include "stores/sql/many.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

// A broker's time may be outside of the range of some database.
std::optional<StoreTime> sane(std::optional<std::chrono::system_clock::time_point> time) {
  if (!time) return std::nullopt;
  return std::clamp(std::chrono::floor<milliseconds>(*time), StoreTime{}, kNever);
}

}  // namespace

// A locked row, and its neighbours in its line.
struct HeldRows::Standing {
  RowTag row{};
  ConsumerNumber consumer{};
  std::optional<std::int64_t> inbox;
  std::optional<Bytes> key;  // if it was tried
  std::optional<std::int64_t> taken_by;
  bool behind_others = false;
  std::optional<RowTag> next;   // in its line
  bool next_is_behind = false;  // it waits for this row, or for one before this row
};

void HeldRows::ring(ConsumerNumber consumer) {
  if (rung_.insert(consumer).second) wake_ups_.ring(session_, consumer);
}

void HeldRows::insert(const HeldContent& content, StoreTime due, const std::optional<Seat>& seat,
                      RowTag row, StoreTime now) {
  const std::string headers = content.headers != nullptr ? core::text_of(*content.headers) : "";
  const auto place = seat ? std::optional(seat->place) : std::nullopt;
  const auto bytes = seat ? std::optional(seat->bytes) : std::nullopt;
  session_.queue(texts_.add, {row,
                              content.consumer,
                              due,
                              content.due,
                              now,
                              content.attempts,
                              content.first_seen,
                              content.fingerprint,
                              content.key,
                              content.type,
                              content.content_type,
                              content.partition,
                              content.position,
                              content.broker_key,
                              sane(content.broker_time),
                              headers,
                              content.payload,
                              content.line,
                              place,
                              bytes,
                              content.inbox});
}

std::int64_t HeldRows::add(const HeldContent& content, StoreTime now) {
  const RowTag row = next();
  std::optional<Seat> seat;
  if (content.line) {
    lines_.lock(content.consumer);
    Lines found;
    const Bytes name(*content.line);
    lines_.find(content.consumer, {&name, 1}, found);
    const auto line = found.find(name);
    seat = seat_behind(line != found.end() ? &line->second : nullptr, row, content.payload.size());
  }
  insert(content, content.due, seat, row, now);
  if (content.due < kBehind) ring(content.consumer);
  return static_cast<std::int64_t>(row);
}

void HeldRows::add_behind(const HeldContent& content, RowTag row, const Seat& seat, StoreTime now) {
  insert(content, kBehind, seat, row, now);
}

Arrival HeldRows::whole(FoundArrival found) {
  if (found.whole) return std::move(found.arrival);
  Answer answer = session_.ask(texts_.payload, {*found.arrival.row});
  if (answer.next()) found.arrival.payload = answer.bytes(0);
  return std::move(found.arrival);
}

HeldRows::Due HeldRows::due(ConsumerNumber consumer, std::size_t max_messages,
                            std::size_t max_bytes, StoreTime now) {
  const std::size_t most = std::min(max_messages, kLook);
  Due due;
  DueOrder<FoundArrival> order;
  const auto ask = [&](StoreTime from) {
    Answer answer = session_.ask(texts_.due, {consumer, now, most, from, kFirstTimed});
    bool timed = false;
    while (answer.next()) {
      FoundArrival found = arrival_at(answer, now);
      const RowTag number = *found.arrival.row;
      order.add(std::move(found), number, answer.time(kAfterArrival),
                answer.time(kAfterArrival + 1));
      timed = answer.boolean(kAfterArrival + 2);
    }
    due.all = answer.changed() < most;
    return timed && !due.all;
  };
  if (ask(spi::kDueAtOnce)) {
    order.forget_timed();
    ask(kFirstTimed);
    due.all = false;
  }
  std::size_t bytes = 0;
  for (FoundArrival& found : std::move(order).first(most)) {
    if (bytes >= max_bytes && !due.rows.empty()) {
      due.all = false;
      break;
    }
    bytes += found.size;
    due.rows.push_back(whole(std::move(found)));
  }
  return due;
}

std::vector<RowTag> HeldRows::due_numbers(ConsumerNumber consumer, std::size_t most,
                                          StoreTime now) {
  DueOrder<RowTag> order;
  const auto ask = [&](StoreTime from) {
    Answer answer = session_.ask(texts_.due_numbers, {consumer, now, most, from, kFirstTimed});
    bool timed = false;
    while (answer.next()) {
      const RowTag number{answer.integer(0)};
      order.add(number, number, answer.time(1), answer.time(2));
      timed = answer.boolean(3);
    }
    return timed && answer.changed() == most;
  };
  if (ask(spi::kDueAtOnce)) {
    order.forget_timed();
    ask(kFirstTimed);
  }
  return std::move(order).first(most);
}

bool HeldRows::any_due(ConsumerNumber consumer, StoreTime now) {
  return session_.ask(texts_.any_due, {consumer, now}).next();
}

std::vector<Arrival> HeldRows::behind(RowTag row, ConsumerNumber consumer, BytesView line,
                                      std::size_t max_messages, std::size_t max_bytes,
                                      StoreTime now) {
  std::vector<Arrival> rows;
  std::size_t bytes = 0;
  Answer answer = session_.ask(texts_.behind, {consumer, line, row, max_messages});
  while (bytes < max_bytes && answer.next() && answer.time(kAfterArrival) == kBehind) {
    FoundArrival found = arrival_at(answer, now);
    bytes += found.size;
    rows.push_back(whole(std::move(found)));
  }
  return rows;
}

void HeldRows::take(std::span<const RowTag> rows, std::int64_t instance, StoreTime until) {
  in_parts(rows, [&](std::span<const RowTag> part) {
    queue_many(session_, texts_.take, part, instance, until);
  });
}

std::vector<RowTag> HeldRows::taken(ConsumerNumber consumer, std::int64_t instance,
                                    StoreTime until) {
  std::vector<RowTag> rows;
  Answer answer = session_.ask(texts_.taken, {consumer, instance, until});
  while (answer.next()) rows.push_back(RowTag{answer.integer(0)});
  std::ranges::sort(rows);
  return rows;
}

// Rows in no line need no consumer's lock: most are such rows, and are found and locked together.
void HeldRows::lock(std::span<const RowTag> rows, std::set<ConsumerNumber> lines) {
  std::vector<RowTag> unknown;
  std::ranges::copy_if(rows, std::back_inserter(unknown),
                       [this](RowTag row) { return asked_.insert(row).second; });
  std::ranges::sort(unknown);
  in_parts(std::span<const RowTag>(unknown), [&](std::span<const RowTag> part) {
    Answer free = ask_many(session_, texts_.free, part);
    while (free.next()) {
      free_[RowTag{free.integer(0)}] = {free.consumer(1), free.maybe_integer(2),
                                        free.maybe_bytes(3), free.maybe_integer(4)};
    }
  });
  std::erase_if(unknown, [this](RowTag row) { return free_.contains(row); });
  in_parts(std::span<const RowTag>(unknown), [&](std::span<const RowTag> part) {
    Answer whose = ask_many(session_, texts_.whose, part);
    while (whose.next()) {
      lined_[RowTag{whose.integer(0)}] = whose.consumer(1);
      lines.insert(whose.consumer(1));
    }
  });
  for (const ConsumerNumber consumer : lines) lines_.lock(consumer);
}

std::optional<ConsumerNumber> HeldRows::consumer_of(RowTag row) {
  lock({&row, 1});
  if (const auto free = free_.find(row); free != free_.end()) return free->second.consumer;
  if (!lined_.contains(row)) return std::nullopt;
  Answer there = session_.ask(texts_.there, {row});
  return there.next() ? std::optional(there.consumer(0)) : std::nullopt;
}

void HeldRows::forget(RowTag row) {
  free_.erase(row);
  lined_.erase(row);
}

std::vector<HeldRows::Standing> HeldRows::standing(std::span<const RowTag> rows) {
  lock(rows);
  std::vector<Standing> found;
  std::vector<RowTag> in_lines;
  for (const RowTag row : std::set<RowTag>(rows.begin(), rows.end())) {
    if (const auto free = free_.find(row); free != free_.end()) {
      Standing standing;
      standing.row = row;
      standing.consumer = free->second.consumer;
      standing.inbox = free->second.inbox;
      standing.key = free->second.key;
      standing.taken_by = free->second.taken_by;
      found.push_back(standing);
    } else if (lined_.contains(row)) {
      in_lines.push_back(row);
    }
  }
  in_parts(std::span<const RowTag>(in_lines),
           [&](std::span<const RowTag> part) { add_lined(part, found); });
  return found;
}

void HeldRows::add_lined(std::span<const RowTag> rows, std::vector<Standing>& found) {
  Answer lined = ask_many(session_, texts_.lined, rows);
  while (lined.next()) {
    Standing standing;
    standing.row = RowTag{lined.integer(0)};
    standing.consumer = lined.consumer(1);
    standing.inbox = lined.maybe_integer(2);
    standing.behind_others = !lined.null(3) && RowTag{lined.integer(3)} != standing.row;
    if (!lined.null(4)) standing.next = RowTag{lined.integer(4)};
    standing.next_is_behind = lined.maybe_time(5) == kBehind;
    standing.key = lined.maybe_bytes(6);
    standing.taken_by = lined.maybe_integer(7);
    found.push_back(standing);
  }
}

std::vector<HeldRows::Standing> HeldRows::in_hand(std::span<const RowTag> rows,
                                                  const std::set<std::int64_t>* by) {
  std::vector<Standing> found = standing(rows);
  if (by == nullptr) return found;
  std::erase_if(
      found, [by](const Standing& row) { return !row.taken_by || !by->contains(*row.taken_by); });
  return found;
}

void HeldRows::release(std::span<const RowTag> rows, milliseconds delay, StoreTime now,
                       const std::set<std::int64_t>* by) {
  const std::vector<Standing> found = in_hand(rows, by);
  if (delay > milliseconds(0)) {
    for (const Standing& row : found)
      session_.queue(texts_.release_later, {row.row, spi::due_after(now, delay)});
    return;
  }
  // A row that is released without delay returns to its old place, and keeps its order.
  std::vector<RowTag> behind;
  for (const Standing& row : found) {
    if (row.behind_others) {
      behind.push_back(row.row);
    } else {
      session_.queue(texts_.release, {row.row});
      ring(row.consumer);
    }
  }
  lines_.put_behind(behind);
}

void HeldRows::hide(std::span<const RowTag> rows, StoreTime until, StoreTime now,
                    const std::set<std::int64_t>* by) {
  for (const Standing& row : in_hand(rows, by)) session_.queue(texts_.hide, {row.row, until, now});
}

std::vector<HeldRows::Gone> HeldRows::take_out(std::span<const RowTag> rows) {
  std::vector<Gone> gone;
  std::vector<RowTag> numbers;
  const std::vector<Standing> found = standing(rows);
  for (const Standing& row : found) {
    gone.push_back({row.row, row.inbox});
    numbers.push_back(row.row);
  }
  in_parts(std::span<const RowTag>(numbers),
           [&](std::span<const RowTag> part) { queue_many(session_, texts_.remove, part); });
  for (const RowTag row : numbers) forget(row);
  move_up(found);
  return gone;
}

// A row becomes the first of its line if its direct predecessor goes and no earlier row of the line
// stays.
void HeldRows::move_up(std::span<const Standing> gone) {
  std::map<RowTag, const Standing*> by_number;
  for (const Standing& row : gone) by_number.emplace(row.row, &row);
  std::vector<RowTag> first;
  for (const Standing& row : gone) {
    if (row.behind_others) continue;
    const Standing* last = &row;
    while (last->next) {
      const auto next = by_number.find(*last->next);
      if (next == by_number.end()) break;
      last = next->second;
    }
    if (!last->next_is_behind) continue;
    first.push_back(*last->next);
    ring(row.consumer);
  }
  std::ranges::sort(first);
  lines_.show_first(first);
}

std::optional<HeldRows::Gone> HeldRows::take_out(RowTag row) {
  const auto gone = take_out({&row, 1});
  return gone.empty() ? std::nullopt : std::optional(gone.front());
}

std::vector<TriedRow> HeldRows::tried(std::span<const RowTag> rows) {
  std::vector<TriedRow> tried;
  for (Standing& row : standing(rows)) {
    if (row.key) tried.push_back({row.row, row.consumer, *std::move(row.key)});
  }
  return tried;
}

std::optional<TriedRow> HeldRows::tried(RowTag row) {
  auto found = tried({&row, 1});
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

void HeldRows::wait(RowTag row, StoreTime due) {
  const auto consumer = consumer_of(row);
  if (!consumer) return;
  session_.queue(texts_.release_later, {row, due});
  if (due < kBehind) ring(*consumer);
}

void HeldRows::park(RowTag row) {
  const std::vector<Standing> found = standing({&row, 1});
  if (found.empty()) return;
  session_.queue(texts_.park, {row, kNever});
  move_up(found);
}

std::vector<RowTag> HeldRows::parked_in_lines(ConsumerNumber consumer) {
  std::vector<RowTag> rows;
  Answer answer = session_.ask(texts_.parked_in_lines, {consumer, kNever});
  while (answer.next()) rows.push_back(RowTag{answer.integer(0)});
  return rows;
}

std::optional<std::int64_t> HeldRows::inbox_of(RowTag row) {
  Answer answer = session_.ask(texts_.inbox, {row});
  return answer.next() ? answer.maybe_integer(0) : std::nullopt;
}

std::optional<Arrival> HeldRows::find(RowTag row, StoreTime now) {
  Answer answer = session_.ask(texts_.find, {row});
  if (!answer.next()) return std::nullopt;
  return whole(arrival_at(answer, now));
}

std::optional<std::int64_t> HeldRows::move(RowTag row, const Move& move) {
  const auto consumer = consumer_of(row);
  if (!consumer) return std::nullopt;
  std::vector<Standing> left;
  if (move.leaves_line) left = standing({&row, 1});
  const RowTag moved = next();
  session_.queue(texts_.move, {row, moved, move.due, move.attempts, move.first_seen, move.key,
                               move.fingerprint, move.keep_inbox, !move.leaves_line});
  queue_many(session_, texts_.remove, std::span<const RowTag>(&row, 1));
  forget(row);
  move_up(left);
  if (move.due < kBehind) ring(*consumer);
  return static_cast<std::int64_t>(moved);
}

std::vector<RowTag> HeldRows::taken_from(ConsumerNumber consumer, std::int64_t instance) {
  std::vector<RowTag> rows;
  Answer answer = session_.ask(texts_.taken_from, {consumer, kBehind, instance});
  while (answer.next()) rows.push_back(RowTag{answer.integer(0)});
  return rows;
}

// The rows are found without a lock, then changed by their numbers. A statement that searched for
// them would lock each row it passes for a moment, and takes would skip that row.
std::int64_t HeldRows::show_again(std::int64_t instance, StoreTime now) {
  std::vector<RowTag> rows;
  Answer consumers = session_.ask(texts_.consumers, {});
  while (consumers.next()) {
    const std::vector<RowTag> some = taken_from(consumers.consumer(0), instance);
    if (!some.empty()) ring(consumers.consumer(0));
    rows.insert(rows.end(), some.begin(), some.end());
  }
  lock(rows);
  std::int64_t shown = 0;
  in_parts(std::span<const RowTag>(rows), [&](std::span<const RowTag> part) {
    shown +=
        static_cast<std::int64_t>(ask_many(session_, texts_.show, part, instance, now).changed());
  });
  return shown;
}

HeldMessages::Peek HeldRows::peek(ConsumerNumber consumer, StoreTime now) {
  HeldMessages::Peek peek;
  Answer answer = session_.ask(texts_.peek, {consumer, kNever});
  if (!answer.next()) return peek;
  peek.any = true;
  if (answer.time(0) != kBehind) peek.next_due = std::max(answer.time(0) - now, milliseconds(0));
  return peek;
}

HeldMessages::Depth HeldRows::depth(ConsumerNumber consumer, StoreTime now) {
  HeldMessages::Depth depth;
  Answer answer = session_.ask(texts_.depth, {consumer, kNever});
  if (!answer.next() || answer.null(0)) return depth;
  depth.rows = static_cast<std::size_t>(answer.integer(1));
  if (answer.time(0) != kBehind) depth.next_due = std::max(answer.time(0) - now, milliseconds(0));
  return depth;
}

HeldRows::Backlog HeldRows::backlog(ConsumerNumber consumer) {
  Answer answer = session_.ask(texts_.backlog, {consumer, kNever});
  if (!answer.next()) return {};
  return {static_cast<std::size_t>(answer.integer(0)), answer.maybe_time(1), answer.maybe_time(2)};
}

}  // namespace semel::sql
