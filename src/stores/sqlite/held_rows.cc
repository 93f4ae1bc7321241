#include "stores/sqlite/held_rows.h"

#include <algorithm>
#include <utility>

#include "core/headers_text.h"
#include "stores/sql/due_order.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

template <class T>
void bind_maybe_bytes(Prepared& statement, int at, const std::optional<T>& bytes) {
  if (bytes) {
    statement.bind_bytes(at, *bytes);
  } else {
    statement.bind_null(at);
  }
}

std::int64_t limit_of(std::size_t count) noexcept {
  return static_cast<std::int64_t>(
      std::min<std::size_t>(count, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

HeldRows::HeldRows(Connection& connection)
    : lines_(connection),
      add_(connection,
           "INSERT INTO semel_held (consumer, due_at, ready_at, enqueued_at, suspect, attempts, "
           "first_seen, fingerprint, key, type, content_type, partition, position, broker_key, "
           "broker_time, headers, payload, inbox) VALUES "
           "(?1, ?2, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"),
      due_(connection,
           "SELECT row, suspect, attempts, first_seen, fingerprint, key, type, content_type, "
           "partition, position, broker_key, broker_time, headers, payload, line, due_at, "
           "enqueued_at FROM semel_held WHERE consumer = ?1 AND due_at <= ?2 AND due_at >= ?4 "
           "ORDER BY due_at, taken_by, row LIMIT ?3"),
      any_due_(connection, "SELECT 1 FROM semel_held WHERE consumer = ?1 AND due_at <= ?2 LIMIT 1"),
      take_(connection, "UPDATE semel_held SET due_at = ?3, taken_by = ?2 WHERE row = ?1"),
      in_hand_(connection, "SELECT 1 FROM semel_held WHERE row = ?1 AND taken_by = ?2"),
      release_(connection,
               "UPDATE semel_held SET taken_by = NULL, due_at = CASE WHEN EXISTS "
               "(SELECT 1 FROM semel_held AS other WHERE other.consumer = semel_held.consumer "
               "AND other.line = semel_held.line AND other.place < semel_held.place) "
               "THEN ?2 ELSE ready_at END WHERE row = ?1"),
      release_later_(connection,
                     "UPDATE semel_held SET due_at = ?2, ready_at = ?2, taken_by = NULL, "
                     "suspect = 0 WHERE row = ?1"),
      // A row that moved on meanwhile is not hidden again.
      hide_(connection,
            "UPDATE semel_held SET due_at = ?2 "
            "WHERE row = ?1 AND taken_by IS NOT NULL AND due_at > ?3"),
      remove_(connection, "DELETE FROM semel_held WHERE row = ?1 RETURNING consumer, line, inbox"),
      find_(connection,
            "SELECT row, suspect, attempts, first_seen, fingerprint, key, type, content_type, "
            "partition, position, broker_key, broker_time, headers, payload, line FROM semel_held "
            "WHERE row = ?1"),
      move_(connection,
            "INSERT INTO semel_held (consumer, due_at, ready_at, enqueued_at, suspect, attempts, "
            "first_seen, fingerprint, key, type, content_type, partition, position, broker_key, "
            "broker_time, headers, payload, line, place, line_bytes, inbox) "
            "SELECT consumer, ?2, ?2, enqueued_at, 0, ?3, coalesce(first_seen, ?4), "
            "coalesce(?6, fingerprint), coalesce(?5, key), type, content_type, partition, "
            "position, broker_key, broker_time, headers, payload, CASE WHEN ?8 THEN line END, "
            "CASE WHEN ?8 THEN place END, CASE WHEN ?8 THEN line_bytes END, "
            "CASE WHEN ?7 THEN inbox END FROM semel_held WHERE row = ?1"),
      line_(connection, "SELECT consumer, line FROM semel_held WHERE row = ?1"),
      park_(connection,
            "UPDATE semel_held SET due_at = ?2, ready_at = ?2, taken_by = NULL, suspect = 0, "
            "line = NULL, place = NULL, line_bytes = NULL WHERE row = ?1"),
      parked_in_lines_(connection,
                       "SELECT row FROM semel_held INDEXED BY semel_held_due "
                       "WHERE consumer = ?1 AND due_at = ?2 AND line IS NOT NULL"),
      // The index alone finds them. Each returns to its old place: a younger copy of it that is not
      // suspect must not pass it.
      show_(connection,
            "UPDATE semel_held SET due_at = min(ready_at, ?2), taken_by = NULL, suspect = 1 "
            "WHERE row IN (SELECT row FROM semel_held INDEXED BY semel_held_due "
            "WHERE taken_by = ?1)"),
      next_(connection, "SELECT min(due_at) FROM semel_held WHERE consumer = ?1"),
      count_(connection, "SELECT count(*) FROM semel_held WHERE consumer = ?1 AND due_at < ?2"),
      // The index has all that is read of many rows.
      backlog_(connection,
               "SELECT ends.held, coalesce(oldest.first_seen, oldest.enqueued_at), "
               "newest.enqueued_at FROM (SELECT count(*) AS held, min(row) AS lowest, "
               "max(row) AS highest FROM semel_held WHERE consumer = ?1 AND due_at < ?2) AS ends "
               "LEFT JOIN semel_held AS oldest ON oldest.row = ends.lowest "
               "LEFT JOIN semel_held AS newest ON newest.row = ends.highest"),
      inbox_(connection, "SELECT inbox FROM semel_held WHERE row = ?1"),
      tried_(connection,
             "SELECT consumer, key FROM semel_held WHERE row = ?1 AND first_seen IS NOT NULL "
             "AND fingerprint IS NOT NULL AND key IS NOT NULL") {}

std::int64_t HeldRows::add(const HeldContent& content, StoreTime now) {
  const std::string headers = content.headers != nullptr ? core::text_of(*content.headers) : "";
  add_.bind(1, content.consumer)
      .bind(2, content.due)
      .bind(3, now)
      .bind(4, content.attempts)
      .bind(5, content.first_seen)
      .bind(6, content.fingerprint)
      .bind_bytes(8, content.type)
      .bind_bytes(9, content.content_type)
      .bind_bytes(10, content.partition)
      .bind_bytes(11, content.position)
      .bind_bytes(14, headers)
      .bind_bytes(15, content.payload)
      .bind(16, content.inbox);
  bind_maybe_bytes(add_, 7, content.key);
  bind_maybe_bytes(add_, 12, content.broker_key);
  if (content.broker_time) {
    add_.bind(13, std::chrono::time_point_cast<milliseconds>(*content.broker_time));
  } else {
    add_.bind_null(13);
  }
  const std::int64_t row = add_.insert();
  if (content.line) lines_.join(RowTag{row}, content.consumer, *content.line);
  return row;
}

Arrival HeldRows::arrival_at(const Prepared& row, StoreTime now) const {
  Arrival arrival;
  arrival.row = RowTag{row.integer(0)};
  arrival.tag.value = static_cast<std::uint64_t>(row.integer(0));
  arrival.suspect = row.integer(1) != 0;
  arrival.attempts = row.small(2);
  if (!row.null(3)) arrival.since_first = std::max(now - row.time(3), milliseconds(0));
  if (!row.null(4)) arrival.fingerprint = row.fingerprint(4);
  if (!row.null(5)) arrival.key = row.text(5);
  arrival.type = row.text(6);
  arrival.content_type = row.text(7);
  arrival.partition = row.text(8);
  arrival.position = row.text(9);
  if (!row.null(10)) arrival.broker_key = row.text(10);
  if (!row.null(11)) arrival.broker_time = row.time(11);
  arrival.headers = core::headers_of(row.bytes(12));
  arrival.payload = row.text(13);
  if (!row.null(14)) arrival.line = row.text(14);
  return arrival;
}

std::vector<Arrival> HeldRows::due(ConsumerNumber consumer, std::size_t max_messages,
                                   std::size_t max_bytes, StoreTime now) {
  sql::DueOrder<Arrival> order;
  const auto read = [&](StoreTime from) {
    std::size_t rows = 0, bytes = 0;
    due_.bind(1, consumer).bind(2, now).bind(3, limit_of(max_messages)).bind(4, from);
    const Reading reading(due_);
    while (rows < max_messages && (bytes < max_bytes || rows == 0)) {
      if (!due_.next()) return true;
      Arrival arrival = arrival_at(due_, now);
      ++rows;
      bytes += arrival.payload.size();
      const RowTag number = *arrival.row;
      order.add(std::move(arrival), number, due_.time(15), due_.time(16));
    }
    return false;
  };
  if (!read(spi::kDueAtOnce)) {
    order.forget_timed();
    read(sql::kFirstTimed);
  }
  std::vector<Arrival> arrivals = std::move(order).first(max_messages);
  std::size_t bytes = 0;
  const auto too_much = std::ranges::find_if(arrivals, [&](const Arrival& arrival) {
    const bool full = bytes >= max_bytes && &arrival != arrivals.data();
    bytes += arrival.payload.size();
    return full;
  });
  arrivals.erase(too_much, arrivals.end());
  return arrivals;
}

bool HeldRows::any_due(ConsumerNumber consumer, StoreTime now) {
  any_due_.bind(1, consumer).bind(2, now);
  const Reading reading(any_due_);
  return any_due_.next();
}

void HeldRows::take(RowTag row, std::int64_t instance, StoreTime until) {
  take_.bind(1, static_cast<std::int64_t>(row)).bind(2, instance).bind(3, until).run();
}

bool HeldRows::in_hand(RowTag row, std::int64_t instance) {
  in_hand_.bind(1, static_cast<std::int64_t>(row)).bind(2, instance);
  const Reading reading(in_hand_);
  return in_hand_.next();
}

void HeldRows::release(RowTag row, milliseconds delay, StoreTime now) {
  const auto number = static_cast<std::int64_t>(row);
  // A row that is released without delay returns to its old place, and keeps its order.
  if (delay <= milliseconds(0)) {
    release_.bind(1, number).bind(2, kBehind).run();
  } else {
    release_later_.bind(1, number).bind(2, spi::due_after(now, delay)).run();
  }
}

void HeldRows::hide(RowTag row, StoreTime until, StoreTime now) {
  hide_.bind(1, static_cast<std::int64_t>(row)).bind(2, until).bind(3, now).run();
}

std::optional<HeldRows::Gone> HeldRows::take_out(RowTag row) {
  remove_.bind(1, static_cast<std::int64_t>(row));
  Gone gone;
  ConsumerNumber consumer{};
  std::optional<Bytes> line;
  {
    const Reading reading(remove_);
    if (!remove_.next()) return std::nullopt;
    consumer = remove_.consumer(0);
    if (!remove_.null(1)) line = remove_.text(1);
    gone.inbox = remove_.maybe_integer(2);
    while (remove_.next()) {
    }
  }
  if (line) lines_.move_up(consumer, *line);
  return gone;
}

std::optional<sql::TriedRow> HeldRows::tried(RowTag row) {
  tried_.bind(1, static_cast<std::int64_t>(row));
  const Reading reading(tried_);
  if (!tried_.next()) return std::nullopt;
  return sql::TriedRow{row, tried_.consumer(0), tried_.text(1)};
}

void HeldRows::wait(RowTag row, StoreTime due) {
  release_later_.bind(1, static_cast<std::int64_t>(row)).bind(2, due).run();
}

void HeldRows::park(RowTag row) {
  ConsumerNumber consumer{};
  std::optional<Bytes> line;
  {
    line_.bind(1, static_cast<std::int64_t>(row));
    const Reading reading(line_);
    if (!line_.next()) return;
    consumer = line_.consumer(0);
    if (!line_.null(1)) line = line_.text(1);
  }
  park_.bind(1, static_cast<std::int64_t>(row)).bind(2, kNever).run();
  if (line) lines_.move_up(consumer, *line);
}

std::vector<RowTag> HeldRows::parked_in_lines(ConsumerNumber consumer) {
  std::vector<RowTag> rows;
  parked_in_lines_.bind(1, consumer).bind(2, kNever);
  const Reading reading(parked_in_lines_);
  while (parked_in_lines_.next()) rows.push_back(RowTag{parked_in_lines_.integer(0)});
  return rows;
}

std::optional<std::int64_t> HeldRows::inbox_of(RowTag row) {
  inbox_.bind(1, static_cast<std::int64_t>(row));
  const Reading reading(inbox_);
  return inbox_.next() ? inbox_.maybe_integer(0) : std::nullopt;
}

std::optional<Arrival> HeldRows::find(RowTag row, StoreTime now) {
  find_.bind(1, static_cast<std::int64_t>(row));
  const Reading reading(find_);
  if (!find_.next()) return std::nullopt;
  return arrival_at(find_, now);
}

std::optional<std::int64_t> HeldRows::move(RowTag row, const Move& move) {
  move_.bind(1, static_cast<std::int64_t>(row))
      .bind(2, move.due)
      .bind(3, move.attempts)
      .bind(4, move.first_seen)
      .bind(6, move.fingerprint)
      .bind(7, move.keep_inbox)
      .bind(8, !move.leaves_line);
  bind_maybe_bytes(move_, 5, move.key);
  const std::int64_t moved = move_.insert();
  if (!remove(row)) return std::nullopt;
  return moved;
}

std::int64_t HeldRows::show_again(std::int64_t instance, StoreTime now) {
  return show_.bind(1, instance).bind(2, now).change();
}

HeldMessages::Peek HeldRows::peek(ConsumerNumber consumer, StoreTime now) {
  HeldMessages::Peek peek;
  next_.bind(1, consumer);
  const Reading reading(next_);
  if (!next_.next() || next_.null(0) || next_.time(0) == kNever) return peek;
  peek.any = true;
  if (next_.time(0) != kBehind) peek.next_due = std::max(next_.time(0) - now, milliseconds(0));
  return peek;
}

HeldMessages::Depth HeldRows::depth(ConsumerNumber consumer, StoreTime now) {
  const HeldMessages::Peek first = peek(consumer, now);
  if (!first.any) return {};
  return {count(consumer), first.next_due};
}

std::size_t HeldRows::count(ConsumerNumber consumer) {
  count_.bind(1, consumer).bind(2, kNever);
  const Reading reading(count_);
  return count_.next() ? static_cast<std::size_t>(count_.integer(0)) : 0;
}

HeldRows::Backlog HeldRows::backlog(ConsumerNumber consumer) {
  backlog_.bind(1, consumer).bind(2, kNever);
  const Reading reading(backlog_);
  if (!backlog_.next()) return {};
  return {static_cast<std::size_t>(backlog_.integer(0)), backlog_.maybe_time(1),
          backlog_.maybe_time(2)};
}

}  // namespace semel::sqlite
