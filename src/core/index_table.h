// IndexTable: maps a hash to small indexes of the hashed things. Open addressing without
// tombstones, so a table that is filled and emptied for ever stays as fast as a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace semel::core {

class IndexTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  // The index inserted under `hash` for which `same(index)` holds, or kNone.
  template <class Same>
  Index find(std::uint64_t hash, Same&& same) const {
    for (std::size_t at = home(hash); slots_[at].index != kNone; at = next(at)) {
      if (slots_[at].hash == mixed(hash) && same(slots_[at].index)) return slots_[at].index;
    }
    return kNone;
  }

  // `index` must not be in the table under `hash`.
  void insert(std::uint64_t hash, Index index) {
    if (++used_ * 2 > slots_.size()) grow();
    place({mixed(hash), index});
  }

  void erase(std::uint64_t hash, Index index) {
    std::size_t hole = home(hash);
    while (slots_[hole].index != index || slots_[hole].hash != mixed(hash)) hole = next(hole);
    // Entries that were pushed past the hole move back into it.
    for (std::size_t at = next(hole); slots_[at].index != kNone; at = next(at)) {
      const std::size_t wanted = slots_[at].hash & (slots_.size() - 1);
      if (distance(wanted, at) >= distance(hole, at)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole].index = kNone;
    --used_;
  }

  std::size_t size() const noexcept { return used_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    Index index = kNone;
  };

  static std::uint32_t mixed(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>((hash * 0x9E3779B97F4A7C15ULL) >> 32);
  }
  std::size_t home(std::uint64_t hash) const noexcept { return mixed(hash) & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return (to - from) & (slots_.size() - 1);
  }
  void place(Slot slot) noexcept {
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].index != kNone) at = next(at);
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.index != kNone) place(slot);
    }
  }

  std::vector<Slot> slots_{64};  // a power of two
  std::size_t used_ = 0;
};

}  // namespace semel::core
