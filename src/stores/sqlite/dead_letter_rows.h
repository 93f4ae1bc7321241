// DeadLetterRows: the table of what was given up, one row per (consumer, identity, fingerprint).
#pragma once

#include <optional>
#include <vector>

#include <semel/finish.h>

#include "stores/sqlite/held_rows.h"
#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

struct DeadLetterRow {
  DeadLetter letter;  // without its consumer's name
  ConsumerNumber consumer{};
  std::optional<KeyId> record;  // the record it belongs to; none: it had no key
};

class DeadLetterRows {
 public:
  explicit DeadLetterRows(Connection& connection);

  // Makes the row, or brings the one that is there up to date. `record`: none where it has no key.
  void keep(const HeldContent& content, const std::optional<KeyId>& record, const Finish& finish,
            StoreTime first_seen, StoreTime now);
  std::optional<DeadLetterRow> find(std::int64_t id);
  std::optional<DeadLetterRow> find(const KeyId& record, const Fingerprint& fingerprint);
  std::vector<DeadLetterRow> list(const DeadLetterFilter& filter,
                                  std::optional<ConsumerNumber> consumer);
  void note_replay(std::int64_t id);
  // Another letter has the identity of `id` under `fingerprint`.
  bool has_twin(std::int64_t id, const Fingerprint& fingerprint);
  void edit(const LetterEdit& edit);
  // False where it is there already.
  bool add(const DeadLetter& letter, ConsumerNumber consumer, const std::optional<KeyId>& record);
  bool discard(std::int64_t id);
  std::size_t count(ConsumerNumber consumer);
  std::optional<StoreTime> last(ConsumerNumber consumer);

 private:
  Prepared keep_;
  Prepared find_;
  Prepared find_record_;
  Prepared list_;
  Prepared replay_;
  Prepared twin_;
  Prepared edit_;
  Prepared add_;
  Prepared discard_;
  Prepared count_;
  Prepared last_;
};

// What is held again when `row` is replayed. Borrows the row.
HeldContent content_of(const DeadLetterRow& row, StoreTime due);

}  // namespace semel::sqlite
