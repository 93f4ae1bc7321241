// Records that are not finished: consuming, retrying, parked. Complete, as the record machine has
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <semel/key.h>
#include <semel/spi/record_machine.h>

#include "stores/memory/key_index.h"
#include "stores/memory/slab.h"

namespace semel::memory {

struct LiveRecord {
  KeyId id;
  Bytes key;
  std::optional<spi::Record> record;
  std::optional<std::int64_t> held;  // the row that is held for it
};

class LiveRecords {
 public:
  explicit LiveRecords(std::uint64_t seed) : index_(seed) {}

  LiveRecord* find(const KeyId& id) noexcept;
  // An empty record for `id`, which must not exist. The reference is valid until it is erased.
  LiveRecord& insert(const KeyId& id, BytesView key);
  void erase(const KeyId& id);

  std::size_t size() const noexcept { return index_.size(); }
  std::size_t bytes() const noexcept { return index_.bytes() + records_.bytes(); }

  template <class Visit>
  void each(Visit&& visit) const {
    index_.each([&](std::uint32_t place) { visit(records_[place]); });
  }

 private:
  std::uint32_t place_of(const KeyId& id, std::uint32_t hash) const noexcept;

  KeyIndex index_;
  Slab<LiveRecord> records_;
};

}  // namespace semel::memory
