// The dead letters: one row per (consumer, key, fingerprint).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <semel/admin/records.h>

namespace semel::memory {

struct DeadLetterRow {
  ConsumerNumber consumer{};
  KeyId key_id;
  DeadLetter letter;
  std::optional<Fingerprint> original{};  // before it was first edited
};

class DeadLetterRows {
 public:
  // Adds the row, or brings the existing one up to date.
  void keep(DeadLetterRow row);
  // False where it exists already.
  bool add(DeadLetterRow row);
  // The letter must exist. False where another one has its key and the new fingerprint.
  bool edit(const LetterEdit& edit);
  DeadLetterRow* find(std::int64_t id);
  DeadLetterRow* find(const KeyId& key, const Fingerprint& fingerprint);
  bool discard(std::int64_t id);
  std::vector<DeadLetter> list(const DeadLetterFilter& filter) const;
  // At most `most` rows with ids above `after`.
  std::vector<const DeadLetterRow*> next(std::int64_t after, std::size_t most) const;
  std::size_t count(ConsumerNumber consumer) const;
  // When the oldest letter of each consumer died.
  std::map<ConsumerNumber, StoreTime> oldest() const;

 private:
  std::map<std::int64_t, DeadLetterRow> rows_;
  std::map<std::pair<KeyId, Fingerprint>, std::int64_t> by_key_;
  std::map<ConsumerNumber, std::size_t> counts_;
  std::int64_t last_ = 0;
};

}  // namespace semel::memory
