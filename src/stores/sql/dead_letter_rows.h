// DeadLetterRows: the table of dead letters, one row per (consumer, identity, fingerprint).
#pragma once

#include <optional>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/sql/held_content.h"
#include "stores/sql/lock.h"
#include "stores/sql/statements.h"

namespace semel::sql {

struct DeadLetterRow {
  DeadLetter letter;  // without its consumer's name
  ConsumerNumber consumer{};
  std::optional<KeyId> record;  // the record it belongs to; nullopt: it had no key
};

// A dead record that may be forgotten.
struct DeadRecord {
  KeyId id;
  Bytes key;
  Fingerprint fingerprint;
  bool steps = false;  // it has a journal
};

struct DeadLetterTexts {
  explicit DeadLetterTexts(const Dialect& dialect);
  SqlText keep, find, find_locked, find_named, find_record, named, record, list, list_whole, note,
      twin, edit, replaces, lock_adding, add, same_unnamed, discard, count, times;
};

class DeadLetterRows {
 public:
  DeadLetterRows(Statements& statements, const DeadLetterTexts& texts)
      : statements_(statements), texts_(texts) {}

  // Adds the row, or brings the existing one up to date. `record`: nullopt where it has no key.
  void keep(const HeldContent& content, const std::optional<KeyId>& record, const Finish& finish,
            StoreTime first_seen, StoreTime now);
  std::optional<DeadLetterRow> find(std::int64_t id, Lock lock);
  // `key`: the record's text, which finds most letters directly.
  std::optional<DeadLetterRow> find(const KeyId& record, BytesView key,
                                    const Fingerprint& fingerprint);
  // Takes out those of one consumer whose letters may be replayed, and would need the journal.
  void spare_replayable(std::vector<DeadRecord>& records);
  // The record of a letter; nullopt where it has none, or does not exist.
  std::optional<KeyId> record_of(std::int64_t id);
  std::vector<DeadLetterRow> list(const DeadLetterFilter& filter,
                                  std::optional<ConsumerNumber> consumer);
  void note_replay(std::int64_t id);
  // Whether another letter has the identity of `id` under `fingerprint`.
  bool has_twin(std::int64_t id, const Fingerprint& fingerprint);
  void edit(const LetterEdit& edit);
  // As DeadLetters::replaces.
  bool replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                const Fingerprint& original);
  // Before the first of several that are added in one transaction. Two who add the same letters in
  // different orders would wait for each other; nobody else waits for this lock.
  void lock_adding();
  // False where the letter exists already.
  bool add(const DeadLetter& letter, ConsumerNumber consumer, const std::optional<KeyId>& record);
  bool discard(std::int64_t id);
  std::size_t count(ConsumerNumber consumer);
  struct Times {
    std::optional<StoreTime> first, last;
  };
  // When the letter with its lowest id died, and the one with its highest. An id stays when a
  // letter dies again.
  Times times(ConsumerNumber consumer);

 private:
  Statements& statements_;
  const DeadLetterTexts& texts_;
};

// The content to hold again when `row` is replayed. Borrows the row.
HeldContent content_of(const DeadLetterRow& row, StoreTime due);

}  // namespace semel::sql
