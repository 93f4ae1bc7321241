#include "tests/conformance/finish_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/key_encoding.h"

namespace semel::conformance {

using spi::PayloadFrom;
using Plan = spi::FinishPlan;

int FinishModel::append(ModelRow row) {
  rows[++last_] = std::move(row);
  return last_;
}

bool FinishModel::has_line(const Bytes& line) const {
  return std::ranges::any_of(rows, [&](const auto& row) { return row.second.line == line; });
}

bool FinishModel::may_follow(const ModelRow& row, const std::set<int>& taken) const {
  return std::ranges::all_of(rows, [&](const auto& other) {
    const ModelRow& before = other.second;
    if (!row.line || before.line != row.line || before.place >= row.place) return true;
    const bool in_hand =
        before.hidden_until && *before.hidden_until > now && before.taken_by == opened;
    return in_hand || taken.contains(other.first);
  });
}

bool FinishModel::first_in_line(const ModelRow& row) const {
  return std::ranges::none_of(rows, [&](const auto& other) {
    return row.line && other.second.line == row.line && other.second.place < row.place;
  });
}

Claim FinishModel::claim(const spi::ClaimRequest& request, const Bytes& key) {
  ModelRecord& record = records[key];
  record.key = key;
  if (record.record) record.record->held = record.held.has_value();
  return spi::decide_claim(record.record, request, now);
}

ModelRecord* FinishModel::record_of(const Finish& finish) {
  for (auto& [key, record] : records) {
    if (core::encode_key(consumer_, key) == finish.lease->key) return &record;
  }
  return nullptr;
}

Applied FinishModel::finish(const Finish& finish, std::optional<int> ack) {
  if (!spi::has_lease(finish)) {
    const ModelRecord* const owner = ack ? owner_of(*ack) : nullptr;
    const spi::Record* const held_for = owner != nullptr ? &*owner->record : nullptr;
    carry_out(spi::plan_without_record(finish, held_for, now), finish, ack, nullptr);
    return Applied::kYes;
  }
  ModelRecord* const record = record_of(finish);
  if (record == nullptr) return Applied::kLeaseLost;
  const Plan plan = spi::plan_finish(record->record, finish, now);
  if (plan.applied == Applied::kLeaseLost) return Applied::kLeaseLost;
  carry_out(plan, finish, ack, record);
  return Applied::kYes;
}

Applied FinishModel::finish_in_unit(const Finish& finish, std::optional<int> ack,
                                    const std::optional<spi::Record>& before) {
  ModelRecord& record = *record_of(finish);
  if (finish.to != Finish::To::kNotStarted) {
    Finish own = finish;
    own.lease->nonce = record.record->nonce;
    return this->finish(own, ack);
  }
  // Within one transaction the claim was never there.
  record.record = before;
  if (ack) release(*ack);
  sent += finish.outgoing.size();
  return Applied::kYes;
}

const ModelRecord* FinishModel::owner_of(int row) const {
  for (const auto& [key, record] : records) {
    if (record.held == row && record.record) return &record;
  }
  return nullptr;
}

void FinishModel::wait(int number, bool parked, StoreTime due) {
  const auto found = rows.find(number);
  if (found == rows.end()) return;
  found->second.parked = parked;
  if (parked) found->second.line.reset();
  found->second.due = due;
  found->second.hidden_until.reset();
}

void FinishModel::release(int row) {
  const auto found = rows.find(row);
  if (found != rows.end()) found->second.hidden_until.reset();
}

void FinishModel::give_back(int row) {
  const auto found = rows.find(row);
  if (found != rows.end() && found->second.taken_by == opened) release(row);
}

bool FinishModel::unlock(const Bytes& key) {
  ModelRecord& record = records[key];
  const bool was_parked = record.record && record.record->state == RecordState::kParked;
  if (!record.record || !spi::decide_unlock(*record.record, now)) return false;
  if (was_parked) {
    if (!record.held) return true;
    Plan shown;
    shown.due = now;
    shown.first_seen = record.record->first_seen;
    record.held = move(*record.held, false, shown, {}, &record);
    return true;
  }
  const auto letter = letters.find({key, record.record->fingerprint});
  if (letter == letters.end()) return true;
  ++letter->second.replayed;
  ModelRow row;
  row.payload = letter->second.payload;
  row.headers = letter->second.headers;
  row.key = key;
  row.fingerprint = record.record->fingerprint;
  row.partition = letter->second.partition;
  row.position = letter->second.position;
  row.first_seen = record.record->first_seen;
  // The record's time or the letter's, which may be of an earlier record: no part of a finish.
  row.first_seen_known = false;
  row.due = now;
  record.held = append(std::move(row));
  return true;
}

void FinishModel::note(const Plan& plan, const Finish& finish, ModelRecord& record) {
  switch (plan.journal) {
    case Plan::JournalAct::kNoteGivingUp:
      record.journal.giving_up = finish.giving_up;
      break;
    case Plan::JournalAct::kForgetGivingUp:
      record.journal.giving_up.reset();
      break;
    case Plan::JournalAct::kForget:
      record.journal = {};
      break;
    case Plan::JournalAct::kNone:
      break;
  }
}

void FinishModel::carry_out(const Plan& plan, const Finish& finish, std::optional<int> ack,
                            ModelRecord* record) {
  sent += finish.outgoing.size();
  if (record != nullptr) note(plan, finish, *record);
  if (plan.keep == Plan::KeepAct::kDeadLetter) bury(plan, finish, ack, record);
  const bool holds = plan.keep == Plan::KeepAct::kHold || plan.keep == Plan::KeepAct::kPark;
  if (holds) hold(plan, finish, ack, record);
  if (ack && plan.arrival_row == Plan::RowAct::kRemove) rows.erase(*ack);
  if (ack && plan.arrival_row == Plan::RowAct::kRelease) release(*ack);
  const bool parks = plan.arrival_row == Plan::RowAct::kPark;
  if (ack && (parks || plan.arrival_row == Plan::RowAct::kWait)) wait(*ack, parks, plan.due);
  if (holds || record == nullptr || plan.record_row != Plan::RowAct::kRemove) return;
  if (record->held) rows.erase(*record->held);
  record->held.reset();
}

std::optional<int> FinishModel::move(int number, bool parked, const Plan& plan,
                                     const Finish& finish, const ModelRecord* record) {
  const auto found = rows.find(number);
  if (found == rows.end()) return std::nullopt;
  ModelRow row = std::move(found->second);
  rows.erase(found);
  row.parked = parked;
  if (parked) row.line.reset();
  row.due = plan.due;
  row.hidden_until.reset();
  row.attempts = record == nullptr ? std::optional(finish.attempts) : std::nullopt;
  if (!row.first_seen) row.first_seen = plan.first_seen;
  if (record != nullptr) {
    row.key = record->key;
    row.fingerprint = record->record->fingerprint;
  } else if (finish.keep != nullptr && !finish.keep->key().text.empty()) {
    row.key = finish.keep->key().text;
    row.fingerprint = finish.keep->fingerprint();
  }
  return append(std::move(row));
}

void FinishModel::hold(const Plan& plan, const Finish& finish, std::optional<int> ack,
                       ModelRecord* record) {
  const bool parked = plan.keep == Plan::KeepAct::kPark;
  std::optional<int> held;
  for (const PayloadFrom from : plan.from) {
    if (held) break;
    if (from == PayloadFrom::kArrivalRow && ack) {
      held = move(*ack, parked, plan, finish, record);
    } else if (from == PayloadFrom::kRecordRow && record != nullptr && record->held) {
      held = move(*record->held, parked, plan, finish, record);
    } else if (from == PayloadFrom::kMessage && finish.keep != nullptr) {
      ModelRow row;
      row.payload = finish.keep->payload();
      row.headers = finish.keep->headers();
      if (finish.arrival != nullptr) row.partition = finish.arrival->partition;
      if (finish.arrival != nullptr) row.position = finish.arrival->position;
      if (finish.arrival != nullptr && finish.arrival->line) join(row, *finish.arrival->line);
      held = move(append(std::move(row)), parked, plan, finish, record);
    }
  }
  if (record == nullptr) return;
  const bool again = held && plan.record_row == Plan::RowAct::kRemove;
  if (again && record->held) rows.erase(*record->held);
  record->held = held;
}

// A message without a key is identified by its place in the source, or not at all.
std::pair<Bytes, Fingerprint> FinishModel::identity_of(const Finish& finish) {
  const Bytes& key = finish.keep->key().text;
  if (!key.empty()) return {key, finish.keep->fingerprint()};
  const bool placed = finish.arrival != nullptr && !finish.arrival->position.empty();
  if (!placed) return {fmt::format("unnamed {}", ++unnamed_), {}};
  return {fmt::format("from {} {}", finish.arrival->partition, finish.arrival->position), {}};
}

void FinishModel::bury(const Plan& plan, const Finish& finish, std::optional<int> ack,
                       const ModelRecord* record) {
  ModelLetter letter;
  std::optional<std::pair<Bytes, Fingerprint>> identity;
  for (const PayloadFrom from : plan.from) {
    if (from == PayloadFrom::kMessage && finish.keep == nullptr) continue;
    if (from == PayloadFrom::kMessage) {
      letter.key = finish.keep->key().text;
      identity = identity_of(finish);
      letter.payload = finish.keep->payload();
      letter.headers = finish.keep->headers();
      if (finish.arrival != nullptr) letter.partition = finish.arrival->partition;
      if (finish.arrival != nullptr) letter.position = finish.arrival->position;
      break;
    }
    const auto number = from == PayloadFrom::kArrivalRow ? ack
                        : record != nullptr              ? record->held
                                                         : std::nullopt;
    const auto row = number ? rows.find(*number) : rows.end();
    if (row == rows.end()) continue;
    letter.key = record->key;
    identity = {record->key, record->record->fingerprint};
    letter.payload = row->second.payload;
    letter.headers = row->second.headers;
    letter.partition = row->second.partition;
    letter.position = row->second.position;
    break;
  }
  if (!identity) return;
  letter.first_seen = plan.first_seen;
  const auto [kept, made] = letters.try_emplace(*identity, letter);
  kept->second.reason = finish.reason;
  kept->second.error = finish.error;
  kept->second.attempts = finish.attempts;
  kept->second.dead_at = now;
}

}  // namespace semel::conformance
