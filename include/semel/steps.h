// Steps: several outside calls in one message, each finished one remembered.
//
// A handler names each of its calls and gives its business id (docs/contract.md, rule 22):
//
//   const Bytes hold = attempt.step("lock_stock", order_id, [&](const Bytes& key) { … });
//
// A step that finished in an earlier try of the message is not called again: its result comes from
// the journal, which stands in the store beside the record. One that did not finish is called
// again, under the same key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/bytes.h>
#include <semel/finish.h>
#include <semel/key.h>
#include <semel/lease.h>
#include <semel/result.h>

namespace semel {

// The steps of the message that a handler has in hand. One thread at a time.
//
// Both calls may throw what is no std::exception and must pass through the handler: the lease was
// lost, the handler was told to stop, or the journal and the code disagree. A handler that
// swallows it ends the same way.
class Steps {
 public:
  virtual ~Steps() = default;

  struct Begun {
    Bytes key;                    // the step's own, for the service: the same at each try
    std::optional<Bytes> result;  // it finished before: not to be called again
  };
  // `input`: what the step's call is made of, where that is more than the message; a step that
  // finished with another one parks the message.
  virtual Begun begin(std::string_view name, BytesView id, BytesView input) = 0;
  // Durable against power loss on return. Throws SemelError where the store is away for long.
  virtual void finish(std::string_view name, BytesView id, BytesView input, BytesView result) = 0;
};

// A step in the journal.
struct StepEntry {
  enum class State {
    kDone,
    kUndone,  // by its undo; when the message is replayed it is called again, in the next round
  };
  std::string name;
  Bytes id;  // the business id; may be empty
  State state = State::kDone;
  int round = 1;
  Fingerprint input;
  Bytes result;
};

struct StepJournal {
  std::vector<StepEntry> entries;  // in the order they finished
  std::optional<GivingUp> giving_up;
};

// Where the journal is kept. It lives with the record: through retries, crashes, parking and the
// dead letters, until the record is completed or forgotten. Safe to call from several threads.
//
// A Finish with `giving_up` notes it in the same commit; one to kDead without forgets that note,
// and one to kCompleted all of the journal.
class StepStore {
 public:
  virtual ~StepStore() = default;

  virtual Result<StepJournal> read(const KeyId& record) = 0;
  // Adds the entry, or replaces the one of its name and id and moves it to the end. Durable against
  // power loss on return. Compare-and-set on the lease's nonce: a late holder changes nothing.
  virtual Result<Applied> keep(const Lease& lease, const StepEntry& entry) = 0;
  // An operator's word: dead or parked → retrying, due now, with the note, so that the consumer
  // undoes the steps. False where the record is in no such state.
  virtual Result<bool> give_up(const KeyId& record, const GivingUp& note) = 0;
};

}  // namespace semel
