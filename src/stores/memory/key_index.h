// KeyIndex: maps a key id to the place of its record. Open addressing; only the record contains the
// key itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <semel/key.h>

namespace semel::memory {

class KeyIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // `seed` prevents senders of keys from causing collisions.
  explicit KeyIndex(std::uint64_t seed);

  std::uint32_t hash(const KeyId& key) const noexcept;

  // The place of the key with this hash for which `is(place)` holds, or kNone.
  template <class Is>
  std::uint32_t find(std::uint32_t hash, Is&& is) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.place == kNone) return kNone;
      if (slot.hash == hash && is(slot.place)) return slot.place;
    }
  }

  // Prefetches the start of the search for this hash: memory is slow, and many can be loaded at a
  // time.
  void prefetch(std::uint32_t hash) const noexcept { __builtin_prefetch(&slots_[hash & mask_]); }

  // The key must not exist yet.
  void insert(std::uint32_t hash, std::uint32_t place);
  // The pair must exist.
  void erase(std::uint32_t hash, std::uint32_t place) noexcept;

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.place != kNone) visit(slot.place);
    }
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t place = kNone;
  };
  void put(Slot slot) noexcept;
  void grow();

  std::uint64_t seed_;
  std::vector<Slot> slots_;
  std::size_t mask_;
  std::size_t size_ = 0;
};

}  // namespace semel::memory
