// Records that are finished: completed or dead. Compact, and forgotten oldest first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include <semel/key.h>
#include <semel/spi/record_machine.h>

#include "stores/memory/key_index.h"
#include "stores/memory/slab.h"

namespace semel::memory {

// Data that most finished records lack, stored separately.
struct FinishedDetail {
  Bytes key;
  Bytes result;
  std::string reason;
  std::string error;
  int attempt = 0;
  Token token{};
  bool outcome_unknown = false;
  StoreTime first_seen{};
};

struct FinishedRecord {
  KeyId id;
  Fingerprint fingerprint;
  StoreTime finished_at{};
  std::uint32_t older = KeyIndex::kNone;  // within the consumer
  std::uint32_t newer = KeyIndex::kNone;
  bool dead = false;
  bool detailed = false;
};

class FinishedRecords {
 public:
  explicit FinishedRecords(std::uint64_t seed) : index_(seed) {}

  // Makes an access to this key shortly afterwards faster.
  void prefetch(const KeyId& id) const noexcept { index_.prefetch(index_.hash(id)); }
  bool contains(const KeyId& id) const noexcept;
  // As the record machine has it; includes the result on request.
  std::optional<spi::Record> find(const KeyId& id, bool want_result) const;
  const FinishedDetail* detail(const KeyId& id) const;

  // `record` is completed or dead, finished at `now`, which never goes back.
  void add(const KeyId& id, BytesView key, spi::Record& record, StoreTime now);
  void set_fingerprint(const KeyId& id, const Fingerprint& fingerprint);
  bool erase(const KeyId& id);
  // Forgets the oldest of all consumers; false where there is none.
  bool forget_oldest();
  // The oldest of `consumer`, or the next one after `behind`, if it was finished at least `ttl`
  // ago.
  const FinishedRecord* expired(ConsumerNumber consumer, std::optional<KeyId> behind,
                                std::chrono::milliseconds ttl, StoreTime now) const;

  std::size_t size() const noexcept { return index_.size(); }
  std::size_t count(ConsumerNumber consumer) const;  // completed and dead
  std::size_t count_dead(ConsumerNumber consumer) const;
  std::size_t bytes() const noexcept { return index_.bytes() + records_.bytes(); }

  // Calls visit(const FinishedRecord&, const FinishedDetail&) for each dead one.
  template <class Visit>
  void each_dead(Visit&& visit) const {
    for (const auto& [place, detail] : details_) {
      if (records_[place].dead) visit(records_[place], detail);
    }
  }

 private:
  struct Line {  // a consumer's, in the order they were finished
    std::uint32_t oldest = KeyIndex::kNone;
    std::uint32_t newest = KeyIndex::kNone;
    std::size_t size = 0;
    std::size_t dead = 0;
  };
  std::uint32_t place_of(const KeyId& id) const noexcept;
  void drop(std::uint32_t place);

  KeyIndex index_;
  Slab<FinishedRecord> records_;
  std::unordered_map<std::uint32_t, FinishedDetail> details_;
  std::map<ConsumerNumber, Line> lines_;
};

}  // namespace semel::memory
