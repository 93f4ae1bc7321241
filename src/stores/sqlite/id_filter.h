// IdFilter: a set of ids without false negatives. It answers "not here" or "perhaps".
//
// A blocked Bloom filter: all bits of an id are in one cache line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <semel/key.h>

namespace semel::sqlite {

class IdFilter {
 public:
  // Sized for about `ids`; more are allowed, with more false positives.
  explicit IdFilter(std::size_t ids);

  void add(const KeyId& id) noexcept;
  bool may_hold(const KeyId& id) const noexcept;
  std::size_t bytes() const noexcept { return lines_.size() * sizeof(Line); }

 private:
  static constexpr std::size_t kWords = 8;
  struct alignas(64) Line {
    std::array<std::uint64_t, kWords> words{};
  };
  struct BitPosition {
    std::size_t line;
    Line bits;
  };
  BitPosition place_of(const KeyId& id) const noexcept;

  std::vector<Line> lines_;
};

}  // namespace semel::sqlite
