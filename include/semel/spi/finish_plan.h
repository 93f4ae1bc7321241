// The plan of a finish: all that a Finish changes in a store, decided in one place.
//
// Pure and thread-safe: a store finds the record, asks for the plan and carries it out in one
// commit. A store that decides in statements or scripts of its own must come to the same state: the
// conformance suites compare them (semel/conformance/store_case.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <semel/admin/records.h>
#include <semel/spi/finish.h>
#include <semel/spi/record_machine.h>

namespace semel::spi {

// Places where the payload of a message is found.
enum class PayloadFrom : std::uint8_t {
  kArrivalRow,  // the held row that it came from: Finish::ack
  kRecordRow,   // the row that is held for its record
  kMessage,     // Finish::keep
};

struct FinishPlan {
  enum class RecordAct : std::uint8_t { kNone, kSave, kErase };
  enum class JournalAct : std::uint8_t {
    kNone,            // a record that is erased takes its journal along, now or at the next purge
    kNoteGivingUp,    // Finish::giving_up
    kForgetGivingUp,  // the steps that were done stay known
    kForget,          // all of it
  };
  // The message's row in the inbox: the one it was received into, else a new one where the Finish
  // asks for one and brings the message.
  enum class InboxAct : std::uint8_t { kNone, kNoteOutcome, kNoteProcessed };
  enum class KeepAct : std::uint8_t {
    kNone,
    kHold,        // a held row, due at `due`
    kPark,        // a held row that is due when a person says so, in no line
    kDeadLetter,  // a new letter, or the existing one is brought up to date
  };
  enum class RowAct : std::uint8_t {
    kNone,
    kRelease,  // visible again at its old place: it was not tried
    kRemove,
    kWait,  // unchanged, under its number; visible at `due`
    kPark,  // likewise, but due when a person says so, and in no line
  };

  Applied applied = Applied::kYes;  // kLeaseLost: nothing else is done
  RecordAct record = RecordAct::kNone;
  JournalAct journal = JournalAct::kNone;
  InboxAct inbox = InboxAct::kNone;

  // The payload is taken from the first of `from` that exists. A held row becomes the row that
  // waits. It gets a new number, since a late ack of the old one must not end it, and keeps its
  // place in its line, its payload and the time at which it was first seen. From then on it is the
  // record's row, under the record's key and fingerprint. A message becomes a row or a letter of
  // its own.
  KeepAct keep = KeepAct::kNone;
  std::span<const PayloadFrom> from;
  StoreTime due{};
  StoreTime first_seen{};  // used where the row has none

  RowAct arrival_row = RowAct::kNone;
  RowAct record_row = RowAct::kNone;  // kRemove: unless it is the row that waits from now on
  // Also remove the inbox row that the removed arrival row names, unless the Finish keeps an inbox:
  // the message was received, and turned out to be a duplicate or is a dead letter.
  bool forgets_received = false;
};

// False: no record is touched.
[[nodiscard]] inline bool has_lease(const Finish& finish) noexcept {
  return finish.lease && finish.to != Finish::To::kAckOnly;
}

// Whether the Finish keeps, settles or sends a message in addition to changing its record. A store
// without HeldMessages refuses such a Finish (kRejected) before it changes anything: a message that
// it dropped would be lost. A caller that knows the store passes none, as Guard does.
[[nodiscard]] inline bool touches_messages(const Finish& finish) noexcept {
  return !has_lease(finish) || finish.keep != nullptr || finish.ack || !finish.outgoing.empty();
}

// True where the delivery only met its record and nothing was done: its row stays while that record
// is tried, or waits with this row. A message handled without a record is kCompleted without a
// lease, and its row is removed.
[[nodiscard]] inline bool met_only(const Finish& finish) noexcept {
  return finish.to == Finish::To::kAckOnly && finish.outgoing.empty();
}

// The plan of a Finish that has a lease. `record`: as found, nullopt where there is none; it is
// changed as decide_finish changes it.
[[nodiscard]] FinishPlan plan_finish(std::optional<Record>& record, const Finish& finish,
                                     StoreTime now);
// The plan of a Finish without a lease. `held_for`: where it is met_only, the record that has the
// row named by Finish::ack as its own; null where there is none.
[[nodiscard]] FinishPlan plan_without_record(const Finish& finish, const Record* held_for,
                                             StoreTime now);
// The plan of a completion whose record is completed already, by the transaction that claimed the
// key.
[[nodiscard]] FinishPlan plan_completion() noexcept;

}  // namespace semel::spi
