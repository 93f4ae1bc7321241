// FinishActs: carries out a plan for everything outside of the record's own row, inside an open
// transaction that may write. Each database keeps records and held rows in tables of its own:
// `Tables` has held, inbox, dead_letters and steps, and a row of its records has `record`, `key`,
// `held` and `inbox`.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <semel/spi/finish.h>
#include <semel/spi/finish_plan.h>

#include "core/key_recipe.h"
#include "stores/sql/held_content.h"
#include "stores/sql/lock.h"

namespace semel::sql {

// The inbox row of a message.
struct InboxRow {
  std::optional<std::int64_t> number;
  bool there = false;  // else the number is only reserved for it
};

template <class Tables>
class FinishActs {
 public:
  explicit FinishActs(Tables& tables) noexcept : tables_(tables) {}

  // Brings `row` up to date; the caller saves it. `reserved`: the inbox row that its claim has
  // reserved.
  template <class Row>
  void run(const spi::FinishPlan& plan, const Finish& finish, Row& row,
           std::optional<std::int64_t> reserved, StoreTime now) {
    if (row.key.empty() && finish.keep != nullptr) row.key = finish.keep->key().text;
    note_in_journal(plan, finish, now);
    if (plan.keep == spi::FinishPlan::KeepAct::kDeadLetter)
      write_dead_letter(plan, finish, row, now);
    const bool in_inbox = row.inbox.has_value();
    row.inbox = end_rows(plan, finish, &row.held, {in_inbox ? row.inbox : reserved, in_inbox}, now);
    if (holds(plan)) return hold(plan, finish, row, now);
    if (plan.record_row == spi::FinishPlan::RowAct::kRemove) row.held.reset();
  }

  // Without a record.
  template <class Row>
  void run(const spi::FinishPlan& plan, const Finish& finish, StoreTime now) {
    Row row;
    row.record.first_seen = plan.first_seen;
    if (finish.keep != nullptr) row.record.fingerprint = finish.keep->fingerprint();
    run(plan, finish, row, std::nullopt, now);
  }

  // Carries out the acts on the row that the message came from, the row held for its record, and
  // its inbox row; returns its inbox row after that. `held`: null where no record names one.
  std::optional<std::int64_t> end_rows(const spi::FinishPlan& plan, const Finish& finish,
                                       const std::optional<std::int64_t>* held, InboxRow inbox,
                                       StoreTime now) {
    using RowAct = spi::FinishPlan::RowAct;
    std::optional<std::int64_t> received;
    if (finish.ack && plan.arrival_row == RowAct::kRemove) {
      const auto gone = tables_.held.take_out(*finish.ack);
      if (gone) received = gone->inbox;
      if (received && plan.forgets_received && !finish.inbox) tables_.inbox.remove(*received);
    } else if (finish.ack && finish.inbox && !inbox.there && holds(plan)) {
      received = tables_.held.inbox_of(*finish.ack);
    }
    if (held != nullptr && *held && plan.record_row == RowAct::kRemove && !holds(plan)) {
      tables_.held.take_out(RowTag{**held});
    }
    if (plan.arrival_row == RowAct::kRelease) release(finish, now);
    if (finish.ack) waits_on(plan, *finish.ack);
    // A message that was received before is in the inbox already.
    if (received && finish.inbox && !inbox.there) inbox = {received, true};
    return note_in_inbox(plan, finish, inbox, now);
  }

  // The plan of spi/finish_plan.h, with the record that has the arrival's row as its own. That row
  // is locked first: then no one can end such a record before this transaction ends. So the record
  // itself needs no lock, which would come too late in the order of stores/sql/lock.h.
  spi::FinishPlan plan_without_record(const Finish& finish, StoreTime now) {
    std::optional<spi::Record> record;
    if (finish.ack && spi::met_only(finish)) {
      if (const auto tried = tables_.held.tried(*finish.ack)) record = held_for(*tried);
    }
    return spi::plan_without_record(finish, record ? &*record : nullptr, now);
  }
  std::optional<spi::Record> held_for(const TriedRow& tried) {
    for (const KeyId& id : core::possible_ids(tried.consumer, tried.key)) {
      auto row = tables_.open_records().find(id, Lock::kNone);
      if (row && row->held == static_cast<std::int64_t>(tried.row)) return std::move(row->record);
    }
    return std::nullopt;
  }

  // Whether the row waits on, by the plan.
  bool waits_on(const spi::FinishPlan& plan, RowTag row) {
    using RowAct = spi::FinishPlan::RowAct;
    if (plan.arrival_row != RowAct::kWait && plan.arrival_row != RowAct::kPark) return false;
    if (plan.arrival_row == RowAct::kPark) {
      tables_.held.park(row);
    } else {
      tables_.held.wait(row, plan.due);
    }
    return true;
  }

  // Shows the row that the message came from again: it was not tried.
  void release(const Finish& finish, StoreTime now) {
    if (finish.ack) tables_.held.release(*finish.ack, std::chrono::milliseconds(0), now);
  }

  // Appends the outgoing messages of a Finish that was applied.
  void send(const Finish& finish, StoreTime now) {
    for (const Outgoing& one : finish.outgoing) {
      tables_.held.add(HeldContent::of(one.to, one.message, now), now);
    }
  }

 private:
  static std::optional<std::int64_t> finish_row(const Finish& finish) noexcept {
    return finish.ack ? std::optional(static_cast<std::int64_t>(*finish.ack)) : std::nullopt;
  }
  static bool holds(const spi::FinishPlan& plan) noexcept {
    return plan.keep == spi::FinishPlan::KeepAct::kHold ||
           plan.keep == spi::FinishPlan::KeepAct::kPark;
  }

  void note_in_journal(const spi::FinishPlan& plan, const Finish& finish, StoreTime now) {
    using JournalAct = spi::FinishPlan::JournalAct;
    if (plan.journal == JournalAct::kNoteGivingUp) {
      tables_.steps.give_up(finish.lease->key, *finish.giving_up, now);
    } else if (plan.journal == JournalAct::kForgetGivingUp) {
      tables_.steps.given_up(finish.lease->key);
    }
  }

  std::optional<std::int64_t> note_in_inbox(const spi::FinishPlan& plan, const Finish& finish,
                                            InboxRow row, StoreTime now) {
    using InboxAct = spi::FinishPlan::InboxAct;
    if (plan.inbox == InboxAct::kNone) return row.there ? row.number : std::nullopt;
    const bool processed = plan.inbox == InboxAct::kNoteProcessed;
    if (row.there && tables_.inbox.end(*row.number, finish, processed, now)) return row.number;
    if (!finish.inbox || finish.keep == nullptr) return std::nullopt;
    // The number of a removed row may have been used again.
    const std::int64_t number = row.number && !row.there ? *row.number : tables_.inbox.next();
    tables_.inbox.put(number, *finish.keep, finish, processed, now);
    return number;
  }

  template <class Row>
  void hold(const spi::FinishPlan& plan, const Finish& finish, Row& row, StoreTime now) {
    const bool recorded = spi::has_lease(finish);
    const bool parked = plan.keep == spi::FinishPlan::KeepAct::kPark;
    HeldMove move;
    move.due = parked ? tables_.held.kNeverDue : plan.due;
    move.attempts = finish.attempts;
    move.first_seen = plan.first_seen;
    move.keep_inbox = !recorded;
    move.leaves_line = parked;
    if (!row.key.empty()) move.key = row.key;
    if (move.key) move.fingerprint = row.record.fingerprint;
    const auto earlier = std::exchange(row.held, std::nullopt);
    for (const spi::PayloadFrom from : plan.from) {
      if (row.held) break;
      if (from == spi::PayloadFrom::kArrivalRow && finish.ack) {
        row.held = tables_.held.move(*finish.ack, move);
      } else if (from == spi::PayloadFrom::kRecordRow && earlier) {
        row.held = tables_.held.move(RowTag{*earlier}, move);
        if (row.held) return;
      } else if (from == spi::PayloadFrom::kMessage && finish.keep != nullptr) {
        HeldContent content = HeldContent::of(*finish.keep, finish.arrival);
        content.due = move.due;
        content.attempts = move.attempts;
        content.first_seen = move.first_seen;
        if (move.key) content.key = move.key;
        if (move.fingerprint) content.fingerprint = move.fingerprint;
        if (!recorded) content.inbox = row.inbox;
        if (parked) content.line.reset();
        row.held = tables_.held.add(content, now);
      }
    }
    const bool again = row.held && plan.record_row == spi::FinishPlan::RowAct::kRemove;
    if (again && earlier && earlier != finish_row(finish)) tables_.held.take_out(RowTag{*earlier});
  }

  template <class Row>
  void write_dead_letter(const spi::FinishPlan& plan, const Finish& finish, const Row& row,
                         StoreTime now) {
    for (const spi::PayloadFrom from : plan.from) {
      if (from == spi::PayloadFrom::kMessage && finish.keep != nullptr) {
        const HeldContent content = HeldContent::of(*finish.keep, finish.arrival);
        const auto record = content.key ? std::optional(finish.keep->key().id) : std::nullopt;
        tables_.dead_letters.keep(content, record, finish, plan.first_seen, now);
        return;
      }
      std::optional<RowTag> held;
      if (from == spi::PayloadFrom::kArrivalRow) held = finish.ack;
      if (from == spi::PayloadFrom::kRecordRow && row.held) held = RowTag{*row.held};
      const auto arrival = held ? tables_.held.find(*held, now) : std::nullopt;
      if (!arrival) continue;
      HeldContent content = HeldContent::of(*arrival, finish.lease->key.consumer());
      if (!row.key.empty()) content.key = row.key;
      content.fingerprint = row.record.fingerprint;
      tables_.dead_letters.keep(content, finish.lease->key, finish, plan.first_seen, now);
      return;
    }
  }

  Tables& tables_;
};

}  // namespace semel::sql
