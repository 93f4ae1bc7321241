// Carries out the plan of a finish on the state.
#include <utility>

#include <semel/spi/finish.h>
#include <semel/spi/finish_plan.h>

#include "core/key_recipe.h"
#include "stores/memory/state.h"

namespace semel::memory {
namespace {

using spi::PayloadFrom;
using Plan = spi::FinishPlan;

void fill(HeldRow& row, const Message& message, const Arrival* arrival) {
  row.consumer = message.key().id.consumer();
  Arrival& content = row.content;
  content.payload = message.payload();
  content.headers = message.headers();
  content.content_type = message.content_type();
  content.type = message.type();
  if (!message.key().text.empty()) {
    content.key = message.key().text;
    content.fingerprint = message.fingerprint();
  }
  if (arrival == nullptr) return;
  content.partition = arrival->partition;
  content.position = arrival->position;
  content.broker_key = arrival->broker_key;
  content.broker_time = arrival->broker_time;
  content.line = arrival->line;
}

// A Finish, its plan and its record; `live` is null where no record is touched.
struct Finishing {
  const Plan& plan;
  const Finish& finish;
  LiveRecord* live = nullptr;
  StoreTime now;
};

// The row that holds a payload; nullopt where it is in no row.
std::optional<RowTag> row_at(const Finishing& f, PayloadFrom from) {
  if (from == PayloadFrom::kArrivalRow) return f.finish.ack;
  const bool held = from == PayloadFrom::kRecordRow && f.live != nullptr && f.live->held;
  return held ? std::optional(RowTag{*f.live->held}) : std::nullopt;
}

HeldMove move_of(const Finishing& f) {
  HeldMove move;
  move.parked = f.plan.keep == Plan::KeepAct::kPark;
  move.due = f.plan.due;
  move.attempts = f.finish.attempts;
  move.first_seen = f.plan.first_seen;
  if (f.live != nullptr) {
    if (!f.live->key.empty()) move.key = f.live->key;
    move.fingerprint = f.live->record->fingerprint;
  } else if (f.finish.keep != nullptr && !f.finish.keep->key().text.empty()) {
    move.key = f.finish.keep->key().text;
    move.fingerprint = f.finish.keep->fingerprint();
  }
  return move;
}

void hold(State& state, const Finishing& f) SEMEL_REQUIRES(state.mutex) {
  const HeldMove move = move_of(f);
  std::optional<std::int64_t> held;
  for (const PayloadFrom from : f.plan.from) {
    if (held) break;
    if (const auto row = row_at(f, from)) {
      held = state.held.move(*row, move);
    } else if (from == PayloadFrom::kMessage && f.finish.keep != nullptr) {
      HeldRow row;
      fill(row, *f.finish.keep, f.finish.arrival);
      row.parked = move.parked;
      row.due = move.due;
      row.first_seen = move.first_seen;
      row.content.attempts = move.attempts;
      if (move.key) {
        row.content.key = move.key;
        row.content.fingerprint = move.fingerprint;
      }
      if (move.parked) row.content.line.reset();
      held = state.held.add(std::move(row));
    }
  }
  if (f.live == nullptr) return;
  // If that row is the one that waits, it has another number by now.
  const bool again = held && f.plan.record_row == Plan::RowAct::kRemove;
  if (again && f.live->held) state.held.remove(RowTag{*f.live->held});
  f.live->held = held;
}

void keep_dead_letter(State& state, const Finishing& f, HeldRow row, const KeyId& id)
    SEMEL_REQUIRES(state.mutex) {
  DeadLetterRow dead;
  dead.consumer = row.consumer;
  dead.key_id = id;
  DeadLetter& letter = dead.letter;
  letter.consumer = state.name_of(row.consumer);
  letter.key = row.content.key.value_or(Bytes());
  letter.fingerprint = row.content.fingerprint.value_or(Fingerprint{});
  letter.reason = f.finish.reason;
  letter.error = f.finish.error;
  letter.attempts = f.finish.attempts;
  letter.partition = std::move(row.content.partition);
  letter.position = std::move(row.content.position);
  letter.payload = std::move(row.content.payload);
  letter.headers = std::move(row.content.headers);
  letter.content_type = std::move(row.content.content_type);
  letter.type = std::move(row.content.type);
  letter.first_seen = f.plan.first_seen;
  letter.dead_at = f.now;
  state.dead_letters.keep(std::move(dead));
}

void write_dead_letter(State& state, const Finishing& f) SEMEL_REQUIRES(state.mutex) {
  for (const PayloadFrom from : f.plan.from) {
    if (from == PayloadFrom::kMessage && f.finish.keep != nullptr) {
      HeldRow row;
      fill(row, *f.finish.keep, f.finish.arrival);
      return keep_dead_letter(state, f, std::move(row), f.finish.keep->key().id);
    }
    const auto tag = row_at(f, from);
    const HeldRow* const found = tag ? state.held.find(*tag) : nullptr;
    if (found == nullptr) continue;
    HeldRow row = *found;
    if (!f.live->key.empty()) row.content.key = f.live->key;
    row.content.fingerprint = f.live->record->fingerprint;
    return keep_dead_letter(state, f, std::move(row), f.live->id);
  }
}

bool holds(const Plan& plan) noexcept {
  return plan.keep == Plan::KeepAct::kHold || plan.keep == Plan::KeepAct::kPark;
}

void end_rows(State& state, const Finishing& f) SEMEL_REQUIRES(state.mutex) {
  if (f.finish.ack && f.plan.arrival_row == Plan::RowAct::kRemove) {
    state.held.remove(*f.finish.ack);
  } else if (f.finish.ack && f.plan.arrival_row == Plan::RowAct::kRelease) {
    state.held.release(*f.finish.ack, std::chrono::milliseconds(0), f.now);
  } else if (f.finish.ack && (f.plan.arrival_row == Plan::RowAct::kWait ||
                              f.plan.arrival_row == Plan::RowAct::kPark)) {
    state.held.wait(*f.finish.ack, f.plan.arrival_row == Plan::RowAct::kPark, f.plan.due);
  }
  if (holds(f.plan) || f.plan.record_row != Plan::RowAct::kRemove || f.live == nullptr ||
      !f.live->held)
    return;
  state.held.remove(RowTag{*f.live->held});
  f.live->held.reset();
}

// Everything except the record. There is no inbox here.
void carry_out(State& state, const Finishing& f) SEMEL_REQUIRES(state.mutex) {
  switch (f.plan.keep) {
    case Plan::KeepAct::kHold:
    case Plan::KeepAct::kPark:
      hold(state, f);
      break;
    case Plan::KeepAct::kDeadLetter:
      write_dead_letter(state, f);
      break;
    case Plan::KeepAct::kNone:
      break;
  }
  end_rows(state, f);
}

// The record that has the arrival's row as its own.
const spi::Record* held_for(State& state, const Finish& finish) SEMEL_REQUIRES(state.mutex) {
  const HeldRow* const row = finish.ack ? state.held.find(*finish.ack) : nullptr;
  if (row == nullptr || !row->content.key) return nullptr;
  for (const KeyId& id : core::possible_ids(row->consumer, *row->content.key)) {
    const LiveRecord* const live = state.live.find(id);
    const bool its_own = live != nullptr && live->held == static_cast<std::int64_t>(*finish.ack);
    if (its_own && live->record) return &*live->record;
  }
  return nullptr;
}

}  // namespace

HeldRow row_of(ConsumerNumber consumer, const OutgoingMessage& message, StoreTime now) {
  HeldRow row;
  row.consumer = consumer;
  row.due = spi::due_when_sent(now, message.delay);
  row.sent = now;
  row.content.payload = message.payload;
  row.content.headers = message.headers;
  row.content.content_type = message.content_type;
  row.content.type = message.type;
  row.content.key = message.key;
  return row;
}

HeldRow row_of(const Message& message, const Arrival* arrival) {
  HeldRow row;
  fill(row, message, arrival);
  return row;
}

Applied apply_finish(State& state, const Finish& finish, StoreTime now) {
  if (!spi::has_lease(finish)) {
    const spi::Record* const record = spi::met_only(finish) ? held_for(state, finish) : nullptr;
    carry_out(state, {spi::plan_without_record(finish, record, now), finish, nullptr, now});
    return Applied::kYes;
  }
  const KeyId& id = finish.lease->key;
  LiveRecord* live = state.live.find(id);
  if (live == nullptr) return Applied::kLeaseLost;
  const Plan plan = spi::plan_finish(live->record, finish, now);
  if (plan.applied == Applied::kLeaseLost) return Applied::kLeaseLost;
  note_in_journal(state, plan, finish);
  carry_out(state, {plan, finish, live, now});
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
