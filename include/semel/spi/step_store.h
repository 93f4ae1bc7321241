// StepStore: where the journal of a message's steps is kept (docs/contract.md, rule 22).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/spi/finish.h>
#include <semel/spi/lease.h>

namespace semel {

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
// dead letters, until the record is completed or forgotten. Store::purge keeps a dead record that
// has a journal as long as a dead letter with its key and fingerprint. Safe to call from several
// threads.
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
  // By an operator: dead or parked → retrying, due now, with the note, so that the consumer undoes
  // the steps. False where the record is in neither state.
  virtual Result<bool> give_up(const KeyId& record, const GivingUp& note) = 0;
};

}  // namespace semel
