#include "stores/sql/finisher.h"

#include <chrono>
#include <utility>

#include "core/record_machine.h"

namespace semel::sql {
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
  auto row = tables_.records.find(id, Lock::kForUpdate);
  // A purge may have moved it to another generation while the look waited for it: such a look finds
  // neither.
  if (!row) row = tables_.records.find(id, Lock::kForUpdate);
  if (!row) return Applied::kLeaseLost;
  std::optional<core::Record> record = row->record;
  if (core::decide_finish(record, finish, now) == Applied::kLeaseLost) return Applied::kLeaseLost;
  row->holder.reset();
  if (!record) {
    tables_.records.erase(id);
    give_back(finish, now);
    return Applied::kYes;
  }
  row->record = *std::move(record);
  if (finish.to == To::kCompleted) {
    complete(id, *row, std::nullopt, finish, now);
  } else {
    keep(id, *row, finish, now);
  }
  return Applied::kYes;
}

void Finisher::complete(const KeyId& id, RecordRow& row, std::optional<std::int64_t> inbox,
                        const Finish& finish, StoreTime now) {
  InboxRow wanted{row.inbox ? row.inbox : inbox, row.inbox.has_value()};
  if (finish.ack) {
    const auto gone = tables_.held.take_out(*finish.ack);
    if (!wanted.there && finish.inbox && gone && gone->inbox) wanted = {gone->inbox, true};
  }
  // Its retry has nothing left to do when it comes.
  if (row.held) tables_.held.take_out(RowTag{*row.held});
  row.held.reset();
  row.inbox = write_inbox(wanted, finish, true, now);
  row.record.state = RecordState::kCompleted;
  row.record.completed_at = now;
  row.record.result = row.inbox ? Bytes() : finish.result;
  tables_.records.save(id, row, now);
}

Finisher::InboxRow Finisher::received_row(const Finish& finish, InboxRow otherwise) {
  if (otherwise.there || !finish.inbox || !finish.ack) return otherwise;
  // What was received before is in the inbox already.
  const auto received = tables_.held.inbox_of(*finish.ack);
  return received ? InboxRow{received, true} : otherwise;
}

std::optional<std::int64_t> Finisher::write_inbox(InboxRow row, const Finish& finish,
                                                  bool processed, StoreTime now) {
  if (row.there && tables_.inbox.end(*row.number, finish, processed, now)) return row.number;
  if (!finish.inbox || finish.keep == nullptr) return std::nullopt;
  const std::int64_t number = row.number && !row.there ? *row.number : tables_.inbox.next();
  tables_.inbox.put(number, *finish.keep, finish, processed, now);
  return number;
}

void Finisher::keep(const KeyId& id, RecordRow& row, const Finish& finish, StoreTime now,
                    std::optional<std::int64_t> reserved) {
  if (finish.giving_up) {
    tables_.steps.give_up(id, *finish.giving_up, now);
  } else if (finish.to == To::kDead) {
    tables_.steps.given_up(id);
  }
  if (row.key.empty() && finish.keep != nullptr) row.key = finish.keep->key().text;
  if (finish.to != To::kNotStarted) {
    const InboxRow inbox = row.inbox ? InboxRow{row.inbox, true} : InboxRow{reserved, false};
    row.inbox = write_inbox(received_row(finish, inbox), finish, false, now);
  }
  switch (finish.to) {
    case To::kRetrying:
      hold(row, finish, row.record.next_at, now);
      break;
    case To::kParked:
      hold(row, finish, kNever, now);
      break;
    case To::kDead:
      bury(&row, finish, row.record.first_seen, now);
      if (finish.ack) tables_.held.take_out(*finish.ack);
      if (row.held) tables_.held.take_out(RowTag{*row.held});
      row.held.reset();
      break;
    case To::kNotStarted:
      give_back(finish, now);
      break;
    case To::kCompleted:
    case To::kAckOnly:
      break;
  }
  tables_.records.save(id, row, now);
}

void Finisher::give_back(const Finish& finish, StoreTime now) {
  if (finish.ack) tables_.held.release(*finish.ack, std::chrono::milliseconds(0), now);
}

// The row that comes back: the one it came from, the one of an earlier try, or a new one.
void Finisher::hold(RecordRow& row, const Finish& finish, StoreTime due, StoreTime now) {
  HeldRows::Move move;
  move.due = due;
  move.attempts = finish.attempts;
  move.first_seen = row.record.first_seen;
  move.keep_inbox = !finish.lease;
  if (!row.key.empty()) move.key = row.key;
  if (move.key) move.fingerprint = row.record.fingerprint;
  const auto earlier = row.held;
  row.held.reset();
  if (finish.ack) row.held = tables_.held.move(*finish.ack, move);
  if (!row.held && finish.keep != nullptr) {
    HeldContent content = HeldContent::of(*finish.keep, finish.arrival);
    content.due = due;
    content.attempts = finish.attempts;
    content.first_seen = row.record.first_seen;
    if (!finish.lease) content.inbox = row.inbox;
    row.held = tables_.held.add(content, now);
  }
  if (!row.held && earlier) row.held = tables_.held.move(RowTag{*earlier}, move);
}

void Finisher::bury(const RecordRow* row, const Finish& finish, StoreTime first_seen,
                    StoreTime now) {
  if (finish.keep != nullptr) {
    const HeldContent content = HeldContent::of(*finish.keep, finish.arrival);
    const std::optional<KeyId> record =
        content.key ? std::optional(finish.keep->key().id) : std::nullopt;
    tables_.dead_letters.keep(content, record, finish, first_seen, now);
    return;
  }
  // Without the message, what is held for it is what can be kept.
  std::optional<RowTag> held = finish.ack;
  if (!held && row != nullptr && row->held) held = RowTag{*row->held};
  if (!held || !finish.lease) return;
  if (const auto arrival = tables_.held.find(*held, now)) {
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
      give_back(finish, now);
      return;
    case To::kRetrying: {
      RecordRow waiting;
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
  if (gone && gone->inbox && !finish.inbox) tables_.inbox.remove(*gone->inbox);
}

}  // namespace semel::sql
