#include "stores/sql/held_rows.h"

#include <algorithm>
#include <utility>

#include "core/headers_text.h"
#include "stores/sql/held_arrivals.h"
#include "stores/sql/many.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

// Rows in one look.
constexpr std::size_t kLook = 256;

// What a broker says need not be a time that every database can have.
std::optional<StoreTime> sane(std::optional<std::chrono::system_clock::time_point> time) {
  if (!time) return std::nullopt;
  return std::clamp(std::chrono::floor<milliseconds>(*time), StoreTime{}, kNever);
}

}  // namespace

StoreTime after(StoreTime now, milliseconds delay) noexcept {
  if (delay <= milliseconds(0)) return now;
  // What is due in the far future is due nevertheless.
  return delay >= kBehind - now ? kBehind - milliseconds(1) : now + delay;
}

HeldContent HeldContent::of(const Message& message, const Arrival* arrival) {
  HeldContent content;
  content.consumer = message.key().id.consumer();
  if (!message.key().text.empty()) {
    content.key = message.key().text;
    content.fingerprint = message.fingerprint();
  }
  content.payload = message.payload();
  content.headers = &message.headers();
  content.content_type = message.content_type();
  content.type = message.type();
  if (arrival != nullptr) {
    content.partition = arrival->partition;
    content.position = arrival->position;
    if (arrival->broker_key) content.broker_key = *arrival->broker_key;
    content.broker_time = arrival->broker_time;
    if (arrival->line) content.line = *arrival->line;
  }
  return content;
}

HeldContent HeldContent::of(ConsumerNumber consumer, const HeldMessage& message, StoreTime now) {
  HeldContent content;
  content.consumer = consumer;
  content.due = after(now, message.delay);
  if (message.key) content.key = *message.key;
  content.payload = message.payload;
  content.headers = &message.headers;
  content.content_type = message.content_type;
  content.type = message.type;
  return content;
}

// A row that is locked, and how its line stands.
struct HeldRows::Standing {
  RowTag row{};
  ConsumerNumber consumer{};
  std::optional<std::int64_t> inbox;
  std::optional<Bytes> line;
  bool behind_others = false;
  bool others_behind = false;  // that wait for it, or for what is before it
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
  std::size_t bytes = 0;
  Answer answer = session_.ask(texts_.due, {consumer, now, most});
  due.all = answer.changed() < most;
  while (answer.next()) {
    if (bytes >= max_bytes && !due.rows.empty()) {
      due.all = false;
      break;
    }
    FoundArrival found = arrival_at(answer, now);
    bytes += found.size;
    due.rows.push_back(whole(std::move(found)));
  }
  return due;
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

void HeldRows::take(RowTag row, std::int64_t instance, StoreTime until) {
  session_.queue(texts_.take, {row, instance, until});
}

std::vector<RowTag> HeldRows::taken(ConsumerNumber consumer, std::int64_t instance,
                                    StoreTime until) {
  std::vector<RowTag> rows;
  Answer answer = session_.ask(texts_.taken, {consumer, instance, until});
  while (answer.next()) rows.push_back(RowTag{answer.integer(0)});
  std::ranges::sort(rows);
  return rows;
}

// Rows in no line need no consumer's lock: most have none, and are found at once.
std::vector<HeldRows::Standing> HeldRows::standing(std::span<const RowTag> rows) {
  std::vector<Standing> found;
  in_parts(rows, [&](std::span<const RowTag> part) {
    std::set<RowTag> rest(part.begin(), part.end());
    Answer free = ask_many(session_, texts_.free, part);
    while (free.next()) {
      const RowTag row{free.integer(0)};
      Standing standing;
      standing.row = row;
      standing.consumer = free.consumer(1);
      standing.inbox = free.maybe_integer(2);
      found.push_back(std::move(standing));
      rest.erase(row);
    }
    if (!rest.empty()) add_lined(std::vector<RowTag>(rest.begin(), rest.end()), found);
  });
  return found;
}

void HeldRows::add_lined(std::span<const RowTag> rows, std::vector<Standing>& found) {
  Answer whose = ask_many(session_, texts_.whose, rows);
  if (whose.changed() == 0) return;
  while (whose.next()) lines_.lock(whose.consumer(0));
  Answer lined = ask_many(session_, texts_.lined, rows, kBehind);
  while (lined.next()) {
    found.push_back({RowTag{lined.integer(0)}, lined.consumer(1), lined.maybe_integer(2),
                     lined.bytes(3), lined.boolean(4), lined.boolean(5)});
  }
}

void HeldRows::release(std::span<const RowTag> rows, milliseconds delay, StoreTime now) {
  if (delay > milliseconds(0)) {
    for (const RowTag row : rows) session_.queue(texts_.release_later, {row, after(now, delay)});
    return;
  }
  // What goes back without delay stands again where it stood: its order is kept.
  for (const Standing& row : standing(rows)) {
    if (row.behind_others) {
      lines_.put_behind(row.row);
    } else {
      session_.queue(texts_.release, {row.row});
      ring(row.consumer);
    }
  }
}

void HeldRows::hide(RowTag row, StoreTime until, StoreTime now) {
  session_.queue(texts_.hide, {row, until, now});
}

std::vector<HeldRows::Gone> HeldRows::take_out(std::span<const RowTag> rows) {
  std::vector<Gone> gone;
  std::vector<RowTag> numbers;
  std::set<std::pair<ConsumerNumber, Bytes>> moved;
  for (Standing& row : standing(rows)) {
    gone.push_back({row.row, row.inbox});
    numbers.push_back(row.row);
    if (row.others_behind) moved.emplace(row.consumer, *std::move(row.line));
  }
  in_parts(std::span<const RowTag>(numbers),
           [&](std::span<const RowTag> part) { queue_many(session_, texts_.remove, part); });
  for (const auto& [consumer, line] : moved) {
    lines_.move_up(consumer, line);
    ring(consumer);
  }
  return gone;
}

std::optional<HeldRows::Gone> HeldRows::take_out(RowTag row) {
  const auto gone = take_out({&row, 1});
  return gone.empty() ? std::nullopt : std::optional(gone.front());
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
  Answer there = session_.ask(texts_.there, {row});
  if (!there.next()) return std::nullopt;
  const RowTag moved = next();
  session_.queue(texts_.move, {row, moved, move.due, move.attempts, move.first_seen, move.key,
                               move.fingerprint, move.keep_inbox});
  queue_many(session_, texts_.remove, std::span<const RowTag>(&row, 1));
  if (move.due < kBehind) ring(there.consumer(0));
  return static_cast<std::int64_t>(moved);
}

std::int64_t HeldRows::show_again(std::int64_t instance, StoreTime now) {
  Answer from = session_.ask(texts_.taken_from, {instance});
  if (from.changed() == 0) return 0;
  while (from.next()) ring(from.consumer(0));
  return static_cast<std::int64_t>(session_.ask(texts_.show, {instance, now}).changed());
}

HeldMessages::Depth HeldRows::depth(ConsumerNumber consumer, StoreTime now) {
  HeldMessages::Depth depth;
  Answer answer = session_.ask(texts_.depth, {consumer, kNever});
  if (!answer.next() || answer.null(0)) return depth;
  depth.rows = static_cast<std::size_t>(answer.integer(1));
  if (answer.time(0) != kBehind) depth.next_due = std::max(answer.time(0) - now, milliseconds(0));
  return depth;
}

std::size_t HeldRows::count(ConsumerNumber consumer) {
  Answer answer = session_.ask(texts_.count, {consumer, kNever});
  return answer.next() ? static_cast<std::size_t>(answer.integer(0)) : 0;
}

}  // namespace semel::sql
