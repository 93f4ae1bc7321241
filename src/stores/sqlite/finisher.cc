#include "stores/sqlite/finisher.h"

#include <utility>

#include "core/record_machine.h"

namespace semel::sqlite {
namespace {

using To = Finish::To;

// What the row of a taken message says, as something to keep elsewhere. Borrows the arrival.
HeldContent arrival_content(const Arrival& arrival, ConsumerNumber consumer) {
  HeldContent content;
  content.consumer = consumer;
  if (arrival.key) content.key = *arrival.key;
  content.fingerprint = arrival.fingerprint;
  content.payload = arrival.payload;
  content.headers = &arrival.headers;
  content.content_type = arrival.content_type;
  content.type = arrival.type;
  content.partition = arrival.partition;
  content.position = arrival.position;
  return content;
}

StoreTime first_seen_of(const Finish& finish, StoreTime now) {
  if (finish.arrival != nullptr && finish.arrival->since_first) {
    return now - *finish.arrival->since_first;
  }
  return now;
}

}  // namespace

Applied Finisher::apply(const Finish& finish, StoreTime now) {
  if (!finish.lease || finish.to == To::kAckOnly) {
    without_lease(finish, now);
    return Applied::kYes;
  }
  const KeyId& id = finish.lease->key;
  auto live = tables_.live.find(id);
  if (!live) return Applied::kLeaseLost;
  std::optional<core::Record> record = live->record;
  if (core::decide_finish(record, finish, now) == Applied::kLeaseLost) return Applied::kLeaseLost;
  live->holder.reset();
  if (finish.to == To::kCompleted) return complete(id, *live, finish, now);
  if (!record) {
    tables_.live.erase(id);
    if (finish.ack) tables_.held.release(*finish.ack, std::chrono::milliseconds(0), now);
    return Applied::kYes;
  }
  live->record = *std::move(record);
  keep(id, *live, finish, now);
  return Applied::kYes;
}

void Finisher::send(const Finish& finish, StoreTime now) {
  for (const Outgoing& one : finish.outgoing) {
    tables_.held.add(HeldContent::of(one.to, one.message, now), now);
  }
}

Applied Finisher::complete(const KeyId& id, LiveRow& live, const Finish& finish, StoreTime now) {
  Generation& generation = tables_.generations.active(tables_.ttls.of(id.consumer()), now);
  std::optional<std::int64_t> inbox = live.inbox;
  if (finish.inbox && finish.keep != nullptr && !inbox) inbox = tables_.details.next_inbox();
  if (!generation.insert(id, live.record.fingerprint, now, inbox)) return Applied::kLeaseLost;
  completed_in(generation, id, &live, inbox, finish, now);
  return Applied::kYes;
}

void Finisher::completed_in(Generation& generation, const KeyId& id, const LiveRow* live,
                            std::optional<std::int64_t> inbox, const Finish& finish,
                            StoreTime now) {
  InboxRow row{inbox, live != nullptr && live->inbox};
  if (finish.ack) {
    const auto gone = tables_.held.take_out(*finish.ack);
    if (!row.there && finish.inbox && gone && gone->inbox) row = {gone->inbox, true};
  }
  const auto written = write_inbox(row, finish, true, now);
  if (written) {
    if (written != inbox) generation.set_detail(id, std::nullopt, written);
  } else if (!finish.result.empty()) {
    generation.set_detail(id, tables_.details.add_result(finish.result), std::nullopt);
  } else if (inbox) {
    generation.set_detail(id, std::nullopt, std::nullopt);
  }
  if (live == nullptr) return;
  tables_.live.erase(id);
  if (live->steps) tables_.steps.forget(id);
  // Its retry has nothing left to do when it comes.
  if (live->held) tables_.held.remove(RowTag{*live->held});
}

Finisher::InboxRow Finisher::received_row(const Finish& finish, InboxRow otherwise) {
  if (otherwise.there || !finish.inbox || !finish.ack) return otherwise;
  const auto received = tables_.held.inbox_of(*finish.ack);
  return received ? InboxRow{received, true} : otherwise;
}

std::optional<std::int64_t> Finisher::write_inbox(InboxRow row, const Finish& finish,
                                                  bool processed, StoreTime now) {
  if (row.there && tables_.details.end_inbox(*row.number, finish, processed, now)) {
    return row.number;
  }
  if (!finish.inbox || finish.keep == nullptr) return std::nullopt;
  // The number a row had may have been given again since it went.
  const std::int64_t number = row.number && !row.there ? *row.number : tables_.details.next_inbox();
  tables_.details.put_inbox(number, *finish.keep, finish, processed, now);
  return number;
}

void Finisher::keep(const KeyId& id, LiveRow& live, const Finish& finish, StoreTime now,
                    std::optional<std::int64_t> reserved) {
  if (finish.giving_up) {
    tables_.steps.give_up(id, *finish.giving_up, now);
    live.steps = true;
  } else if (finish.to == To::kDead && live.steps) {
    tables_.steps.given_up(id);
  }
  if (live.key.empty() && finish.keep != nullptr) live.key = finish.keep->key().text;
  if (finish.to != To::kNotStarted) {
    const InboxRow row = live.inbox ? InboxRow{live.inbox, true} : InboxRow{reserved, false};
    live.inbox = write_inbox(received_row(finish, row), finish, false, now);
  }
  switch (finish.to) {
    case To::kRetrying:
      hold(live, finish, live.record.next_at, now);
      break;
    case To::kParked:
      hold(live, finish, kNever, now);
      break;
    case To::kDead:
      bury(&live, finish, live.record.first_seen, now);
      if (finish.ack) tables_.held.remove(*finish.ack);
      if (live.held) tables_.held.remove(RowTag{*live.held});
      live.held.reset();
      break;
    case To::kNotStarted:
      if (finish.ack) tables_.held.release(*finish.ack, std::chrono::milliseconds(0), now);
      break;
    case To::kCompleted:
    case To::kAckOnly:
      break;
  }
  tables_.live.save(id, live, now);
}

// The row that comes back: the one it came from, the one of an earlier try, or a new one.
void Finisher::hold(LiveRow& live, const Finish& finish, StoreTime due, StoreTime now) {
  HeldRows::Move move;
  move.due = due;
  move.attempts = finish.attempts;
  move.first_seen = live.record.first_seen;
  move.keep_inbox = !finish.lease;
  if (!live.key.empty()) move.key = live.key;
  if (move.key) move.fingerprint = live.record.fingerprint;
  const auto earlier = live.held;
  live.held.reset();
  if (finish.ack) live.held = tables_.held.move(*finish.ack, move);
  if (!live.held && finish.keep != nullptr) {
    HeldContent content = HeldContent::of(*finish.keep, finish.arrival);
    content.due = due;
    content.attempts = finish.attempts;
    content.first_seen = live.record.first_seen;
    if (!finish.lease) content.inbox = live.inbox;
    live.held = tables_.held.add(content, now);
  }
  if (!live.held && earlier) live.held = tables_.held.move(RowTag{*earlier}, move);
}

void Finisher::bury(const LiveRow* live, const Finish& finish, StoreTime first_seen,
                    StoreTime now) {
  if (finish.keep != nullptr) {
    const HeldContent content = HeldContent::of(*finish.keep, finish.arrival);
    const std::optional<KeyId> record =
        content.key ? std::optional(finish.keep->key().id) : std::nullopt;
    tables_.dead_letters.keep(content, record, finish, first_seen, now);
    return;
  }
  // Without the message, what is held for it is what can be kept.
  std::optional<RowTag> row = finish.ack;
  if (!row && live != nullptr && live->held) row = RowTag{*live->held};
  if (!row || !finish.lease) return;
  if (const auto arrival = tables_.held.find(*row, now)) {
    tables_.dead_letters.keep(arrival_content(*arrival, finish.lease->key.consumer()),
                              finish.lease->key, finish, first_seen, now);
  }
}

void Finisher::without_lease(const Finish& finish, StoreTime now) {
  const StoreTime first_seen = first_seen_of(finish, now);
  std::optional<std::int64_t> inbox;
  if (finish.to != To::kNotStarted && finish.to != To::kAckOnly) {
    inbox = write_inbox(received_row(finish, {}), finish, finish.to == To::kCompleted, now);
  }
  switch (finish.to) {
    case To::kCompleted:
    case To::kAckOnly:
      break;
    case To::kNotStarted:
      if (finish.ack) tables_.held.release(*finish.ack, std::chrono::milliseconds(0), now);
      return;
    case To::kRetrying: {
      LiveRow waiting;
      waiting.record.first_seen = first_seen;
      waiting.inbox = inbox;
      if (finish.keep != nullptr) {
        waiting.key = finish.keep->key().text;
        waiting.record.fingerprint = finish.keep->fingerprint();
      }
      hold(waiting, finish, after(now, finish.delay), now);
      return;
    }
    case To::kParked:
    case To::kDead:
      bury(nullptr, finish, first_seen, now);
      break;
  }
  if (!finish.ack) return;
  const auto gone = tables_.held.take_out(*finish.ack);
  // It was received, and turned out to be a duplicate, or is a dead letter now.
  if (gone && !finish.inbox) tables_.details.remove(std::nullopt, gone->inbox);
}

}  // namespace semel::sqlite
