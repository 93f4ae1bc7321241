#include "stores/memory/key_index.h"

#include <cstring>
#include <utility>

namespace semel::memory {
namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint64_t word(const unsigned char* bytes, std::size_t size) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, size);
  return value;
}

std::uint64_t mixed(std::uint64_t value) noexcept {
  value ^= value >> 32U;
  value *= 0xd6e8feb86659fd93U;
  value ^= value >> 32U;
  value *= 0xd6e8feb86659fd93U;
  return value ^ (value >> 32U);
}

}  // namespace

KeyIndex::KeyIndex(std::uint64_t seed) : seed_(seed), slots_(kFirstSlots), mask_(kFirstSlots - 1) {}

std::uint32_t KeyIndex::hash(const KeyId& key) const noexcept {
  const unsigned char* bytes = key.bytes.data();
  const std::uint64_t low = word(bytes + 4, 8) ^ seed_;
  const std::uint64_t high = word(bytes + 12, 8) ^ (word(bytes, 4) << 32U);
  return static_cast<std::uint32_t>(mixed(mixed(low) ^ high));
}

void KeyIndex::insert(std::uint32_t hash, std::uint32_t place) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  put({hash, place});
  ++size_;
}

void KeyIndex::put(Slot slot) noexcept {
  std::size_t at = slot.hash & mask_;
  while (slots_[at].place != kNone) at = (at + 1) & mask_;
  slots_[at] = slot;
}

void KeyIndex::erase(std::uint32_t hash, std::uint32_t place) noexcept {
  std::size_t hole = hash & mask_;
  while (slots_[hole].place != place) hole = (hole + 1) & mask_;
  // Entries after the hole move up, unless they would move before their home: no search may end
  // early.
  for (std::size_t at = (hole + 1) & mask_; slots_[at].place != kNone; at = (at + 1) & mask_) {
    const std::size_t home = slots_[at].hash & mask_;
    if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = {};
  --size_;
}

void KeyIndex::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.place != kNone) put(slot);
  }
}

}  // namespace semel::memory
