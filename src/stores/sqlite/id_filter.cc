#include "stores/sqlite/id_filter.h"

#include <algorithm>
#include <cstring>

namespace semel::sqlite {
namespace {

constexpr std::size_t kBitsPerId = 12;
constexpr std::size_t kBitsPerLine = 512;
// For each id, one bit in each of this many words of its cache line.
constexpr std::size_t kBitsSet = 6;

constexpr std::uint64_t mixed(std::uint64_t h) noexcept {
  h ^= h >> 33U;
  h *= 0xff51afd7ed558ccdU;
  h ^= h >> 33U;
  h *= 0xc4ceb9fe1a85ec53U;
  h ^= h >> 33U;
  return h;
}

// Ids that keep an order are not random: all bytes are hashed.
std::uint64_t hash_of(const KeyId& id) noexcept {
  std::uint32_t head = 0;
  std::array<std::uint64_t, 2> tail{};
  static_assert(sizeof head + sizeof tail == KeyId::kSize);
  std::memcpy(&head, id.bytes.data(), sizeof head);
  std::memcpy(tail.data(), id.bytes.data() + sizeof head, sizeof tail);
  return mixed(mixed(mixed(head) ^ tail[0]) ^ tail[1]);
}

}  // namespace

IdFilter::IdFilter(std::size_t ids)
    : lines_(std::max<std::size_t>(ids * kBitsPerId / kBitsPerLine + 1, 1)) {}

IdFilter::BitPosition IdFilter::place_of(const KeyId& id) const noexcept {
  const std::uint64_t hash = hash_of(id);
  BitPosition place{};
  place.line = static_cast<std::size_t>(hash % lines_.size());
  std::uint64_t bits = mixed(hash + 0x9e3779b97f4a7c15U);
  std::size_t word = bits & (kWords - 1);
  bits >>= 3U;
  for (std::size_t i = 0; i < kBitsSet; ++i) {
    place.bits.words[(word + i) & (kWords - 1)] |= std::uint64_t{1} << (bits & 63U);
    bits >>= 6U;
  }
  return place;
}

void IdFilter::add(const KeyId& id) noexcept {
  const BitPosition place = place_of(id);
  Line& line = lines_[place.line];
  for (std::size_t i = 0; i < kWords; ++i) line.words[i] |= place.bits.words[i];
}

bool IdFilter::may_hold(const KeyId& id) const noexcept {
  const BitPosition place = place_of(id);
  const Line& line = lines_[place.line];
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < kWords; ++i) missing |= place.bits.words[i] & ~line.words[i];
  return missing == 0;
}

}  // namespace semel::sqlite
