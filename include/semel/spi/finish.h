// Finish: the one verb that ends what a claim began, for a mixed batch in one commit.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <semel/bytes.h>
#include <semel/message.h>
#include <semel/outgoing_message.h>
#include <semel/spi/delivery.h>
#include <semel/spi/lease.h>

namespace semel {

// The message is given up, and its finished steps are to be undone first (steps.h). Kept with the
// journal until the record is dead.
struct GivingUp {
  std::string reason;  // of the dead letter, once every step is undone
  std::string error;
  int attempts = 0;    // of the handler
  int undo_tries = 0;  // failed attempts of the next undo
  // Undo tries that say nothing about the message: its service was away, or busy with it.
  int uncounted_undo_tries = 0;
};

// With a lease the record is changed, compare-and-set on the nonce. Without one no record is
// touched: a store uses that to keep a message that has no record of its own (a conflicting
// payload, a message without a key), to remove a queue's row whose key was completed long ago, and
// to remove the row of a message that was handled without a record (kCompleted).
struct Finish {
  enum class To {
    kCompleted,  // record completed, with `result`
    kRetrying,   // record waits `delay`; `keep` is held and comes back by itself.
                 // Without lease: only held.
    kParked,     // record waits for a person; `keep` is stored
    kDead,       // record closed; `keep` becomes a dead letter. Without lease: only the dead letter
    kNotStarted,  // the claim is undone as if it had not been, its attempt not counted
    // Never with a lease: the message met its record, and only the row named by `ack` is removed. A
    // row held for a record that waits stays: it is the only copy of that message.
    kAckOnly,
  };

  To to = To::kCompleted;
  std::optional<Lease> lease{};
  Bytes result{};
  std::string reason{};  // kRetrying, kParked, kDead
  std::string error{};
  int attempts = 0;      // stored with a dead letter
  bool counted = true;   // kRetrying: false gives the attempt back
  bool unknown = false;  // not kCompleted: the effect may have happened, and the record remembers
  std::chrono::milliseconds delay{0};
  const Message* keep = nullptr;     // borrowed for the call; see `to`
  const Arrival* arrival = nullptr;  // where `keep` came from: partition, position; borrowed
  // The delivery that its source settles, for good, once this Finish is applied; null: none does.
  // Borrowed for the call. A store that shares a server with the source (Arrival::entry) may
  // acknowledge it there in the same commit, and then returns Applied::kYesSettled. Where it does
  // not, or cannot, the source settles it.
  const Arrival* settles = nullptr;
  bool inbox = false;  // keep the message in the inbox table too, whatever `to` says
  // The held row this came from: deleted (or moved, for kRetrying) with it.
  std::optional<RowTag> ack{};
  // Appended to their queues in the same commit where this Finish applies, and not where it does
  // not. A store whose records and queues share no commit appends them first: there a crash between
  // the two may send what was not recorded, and never records what was not sent.
  std::vector<Outgoing> outgoing{};
  // kRetrying and kParked, with a lease, where the store has a StepStore: noted in the journal.
  std::optional<GivingUp> giving_up{};
};

enum class Applied {
  kYes,
  kLeaseLost,   // someone else holds the record, or it is finished: nothing of this Finish was
                // applied
  kYesSettled,  // as kYes, and the delivery named by Finish::settles is acknowledged at its source
};

}  // namespace semel
