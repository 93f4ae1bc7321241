// What a Finish does beside the record: held rows, parked payloads, dead letters.
#include <utility>

#include <semel/finish.h>

#include "core/key_encoding.h"
#include "core/record_machine.h"
#include "stores/memory/state.h"

namespace semel::memory {
namespace {

void fill(HeldRow& row, const Message& message, const Arrival* arrival) {
  row.consumer = message.key().id.consumer();
  row.id = message.key().id;
  Arrival& content = row.content;
  content.payload = message.payload();
  content.headers = message.headers();
  content.content_type = message.content_type();
  content.type = message.type();
  if (!message.key().text.empty()) content.key = message.key().text;
  content.fingerprint = message.fingerprint();
  if (arrival == nullptr) return;
  content.partition = arrival->partition;
  content.position = arrival->position;
  content.broker_key = arrival->broker_key;
  content.broker_time = arrival->broker_time;
  content.line = arrival->line;
}

// What is to be kept: the message as the caller has it, else the held row it came from.
std::optional<HeldRow> row_to_keep(const Finish& finish, std::optional<HeldRow> taken) {
  if (finish.keep == nullptr) return taken;
  HeldRow row;
  if (taken) row = std::move(*taken);
  fill(row, *finish.keep, finish.arrival);
  row.content.attempts = finish.attempts;
  return row;
}

StoreTime first_seen(const Finish& finish, const std::optional<core::Record>& record,
                     StoreTime now) {
  if (record) return record->first_seen;
  if (finish.arrival != nullptr && finish.arrival->since_first) {
    return now - *finish.arrival->since_first;
  }
  return now;
}

void keep_dead_letter(State& state, const Finish& finish, HeldRow row, StoreTime first,
                      StoreTime now) SEMEL_REQUIRES(state.mutex) {
  if (!row.id) return;
  DeadLetterRow dead;
  dead.consumer = row.consumer;
  dead.key_id = *row.id;
  DeadLetter& letter = dead.letter;
  letter.consumer = state.name_of(row.consumer);
  letter.key = row.content.key.value_or(Bytes());
  letter.fingerprint = row.content.fingerprint.value_or(Fingerprint{});
  letter.reason = finish.reason;
  letter.error = finish.error;
  letter.attempts = finish.attempts;
  letter.partition = std::move(row.content.partition);
  letter.position = std::move(row.content.position);
  letter.payload = std::move(row.content.payload);
  letter.headers = std::move(row.content.headers);
  letter.content_type = std::move(row.content.content_type);
  letter.type = std::move(row.content.type);
  letter.first_seen = first;
  letter.dead_at = now;
  state.dead_letters.keep(std::move(dead));
}

void hold(State& state, const Finish& finish, HeldRow row, StoreTime first, StoreTime now)
    SEMEL_REQUIRES(state.mutex) {
  row.due = now + finish.delay;
  row.first_seen = first;
  state.held.add(std::move(row));
}

// Where the payload goes, once the record says that this Finish applies.
void store_payload(State& state, const Finish& finish, const std::optional<core::Record>& record,
                   StoreTime now) SEMEL_REQUIRES(state.mutex) {
  if (finish.to == Finish::To::kNotStarted) {
    if (!finish.ack) return;
    state.held.release(*finish.ack, std::chrono::milliseconds(0), now);
    return;
  }
  std::optional<HeldRow> taken;
  if (finish.ack) taken = state.held.remove(*finish.ack);
  // What was parked with it, where a person has decided.
  auto parked =
      finish.lease ? state.parked.extract(finish.lease->key) : decltype(state.parked)::node_type();
  if (parked && !taken) taken = std::move(parked.mapped());
  if (finish.to == Finish::To::kCompleted || finish.to == Finish::To::kAckOnly) return;
  auto row = row_to_keep(finish, std::move(taken));
  if (!row) return;
  const StoreTime first = first_seen(finish, record, now);
  if (finish.to == Finish::To::kRetrying) {
    hold(state, finish, std::move(*row), first, now);
  } else if (finish.to == Finish::To::kParked && finish.lease) {
    row->first_seen = first;
    state.parked[finish.lease->key] = std::move(*row);
  } else {
    keep_dead_letter(state, finish, std::move(*row), first, now);
  }
}

}  // namespace

HeldRow row_of(ConsumerNumber consumer, const HeldMessage& message, StoreTime now) {
  HeldRow row;
  row.consumer = consumer;
  row.due = now + message.delay;
  row.content.payload = message.payload;
  row.content.headers = message.headers;
  row.content.content_type = message.content_type;
  row.content.type = message.type;
  row.content.key = message.key;
  if (message.key) row.id = core::encode_key(consumer, *message.key);
  return row;
}

HeldRow row_of(const Message& message, const Arrival* arrival) {
  HeldRow row;
  fill(row, message, arrival);
  return row;
}

Applied apply_finish(State& state, const Finish& finish, StoreTime now) {
  if (!finish.lease) {
    store_payload(state, finish, std::nullopt, now);
    return Applied::kYes;
  }
  const KeyId& id = finish.lease->key;
  LiveRecord* live = state.live.find(id);
  if (live == nullptr) return Applied::kLeaseLost;
  if (core::decide_finish(live->record, finish, now) == Applied::kLeaseLost) {
    return Applied::kLeaseLost;
  }
  note_in_journal(state, finish);
  const bool plain = finish.to == Finish::To::kCompleted && !finish.ack && state.parked.empty();
  if (!plain) store_payload(state, finish, live->record, now);
  if (!live->record) {
    state.live.erase(id);
  } else if (live->record->state == RecordState::kCompleted ||
             live->record->state == RecordState::kDead) {
    state.finished.add(id, live->key, *live->record, now);
    state.live.erase(id);
  }
  return Applied::kYes;
}

}  // namespace semel::memory
