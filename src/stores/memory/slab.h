// Slab: values at fixed addresses, identified by a small number. Freed places are reused, with the
// memory that their value had allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace semel::memory {

template <class T>
class Slab {
 public:
  // A place; its value is as the last owner left it.
  std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t place = free_.back();
      free_.pop_back();
      return place;
    }
    if (used_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Chunk>());
    return used_++;
  }
  void give(std::uint32_t place) { free_.push_back(place); }

  T& operator[](std::uint32_t place) noexcept { return (*chunks_[place / kChunk])[place % kChunk]; }
  const T& operator[](std::uint32_t place) const noexcept {
    return (*chunks_[place / kChunk])[place % kChunk];
  }
  std::size_t bytes() const noexcept { return chunks_.size() * sizeof(Chunk); }

 private:
  static constexpr std::uint32_t kChunk = 1024;
  using Chunk = std::array<T, kChunk>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace semel::memory
