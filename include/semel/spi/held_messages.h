// HeldMessages: payloads the store keeps until they are due.
//
// One mechanism for the embedded queue, delayed retries and replayed dead letters: a message that
// must wait is stored, settled at its source, and comes back from here (docs/contract.md, rule 17).
// Rows are written by append, by Finish (kRetrying) and by DeadLetters::replay; a row is removed
// when a Finish has its tag.
//
// Rows of one ordering group (Arrival::line) keep their order. A row behind others of its group is
// not visible: only a process that holds all of those takes it, or any process once they are gone.
// A row that is held again (kRetrying, release) keeps its place; after a release the caller holds
// no row behind it. A parked row is in no group, and joins its end once it is unlocked and met.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <semel/outgoing_message.h>
#include <semel/result.h>
#include <semel/spi/delivery.h>

namespace semel {

// The group of a message that is kept without one; nullopt: it has none. Called within the
// store's transaction: it must not call the store.
using LineOf = std::function<std::optional<Bytes>(const Arrival&)>;

// A message that may have to wait in its line. Borrowed for the call.
struct Follower {
  const Message* message = nullptr;
  const Arrival* arrival = nullptr;  // its line is set
};

class HeldMessages {
 public:
  virtual ~HeldMessages() = default;

  // Durable against power loss on return; all or none.
  virtual Result<void> append(ConsumerNumber consumer,
                              std::span<const OutgoingMessage> messages) = 0;

  // Takes due rows, oldest due first, and hides them from every process for `hidden`. Rows hidden
  // by a process that is proven gone are visible again immediately, marked suspect. `line_of`:
  // rows in no line (appended, replayed, unlocked) join its end when first met, oldest due first;
  // empty: they stay in none. A row that another session has locked is not waited for, and later
  // rows of its line are not returned. A call looks at a limited number of rows: where all of those
  // wait in their lines it returns none, and a later call continues behind them.
  virtual Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                            std::size_t max_bytes, std::chrono::milliseconds hidden,
                                            const LineOf& line_of = {}) = 0;

  enum class Place {
    kHeld,  // kept behind the last of its group, durable against power loss
    kFree,  // nothing of its group is held: not kept
    kFull,  // its group has too much: not kept
  };
  // Answers for each in turn: within one group in the order given, and either all of a group's
  // messages in a call are kFree, or none. `most_bytes`: of payloads in one group.
  virtual Result<std::vector<Place>> hold_behind(ConsumerNumber consumer,
                                                 std::span<const Follower> followers,
                                                 std::size_t most_bytes) = 0;
  // The groups that have rows, parked ones not counted.
  virtual Result<std::vector<Bytes>> lines(ConsumerNumber consumer) = 0;

  // Shows rows again after `delay`. Without a delay a row returns to its old place, suspect if it
  // was: it was not tried. Ignores unknown tags, and rows that this store has not in hand: others
  // have taken them since, or they are shown already.
  virtual Result<void> release(std::span<const RowTag> rows, std::chrono::milliseconds delay) = 0;

  // Hides rows for `hidden` from now. Ignores what release ignores, and rows that are visible again
  // because their time is over.
  virtual Result<void> extend(std::span<const RowTag> rows, std::chrono::milliseconds hidden) = 0;

  virtual Result<void> remove(std::span<const RowTag> rows) = 0;

  struct Depth {
    std::size_t rows = 0;  // all of the consumer's rows, hidden and not yet due ones too
    std::optional<std::chrono::milliseconds>
        next_due;  // until the next one shows; none: not known, or no rows
  };
  virtual Result<Depth> depth(ConsumerNumber consumer) = 0;

  // Depth without the count, which costs more the more rows there are.
  struct Peek {
    bool any = false;  // the consumer has rows, hidden and not yet due ones too
    std::optional<std::chrono::milliseconds> next_due;  // as in Depth
  };
  virtual Result<Peek> peek(ConsumerNumber consumer) {
    auto counted = depth(consumer);
    if (!counted) return failure(std::move(counted.error()));
    return Peek{counted->rows > 0, counted->next_due};
  }

  // A descriptor that becomes readable when any process may have added a row; drained by take.
  // Owned by the store. -1 where the store has none.
  virtual int wake_fd() noexcept = 0;
  // The same for one consumer: only its own takes drain it, so that several consumers of one
  // process miss nothing. By default the one for all.
  virtual int wake_fd(ConsumerNumber consumer) noexcept {
    static_cast<void>(consumer);
    return wake_fd();
  }
};

}  // namespace semel
