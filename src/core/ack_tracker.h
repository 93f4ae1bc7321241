// AckTracker: the contiguous prefix of settled messages in one partition. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace semel::core {

class AckTracker {
 public:
  // Positions must grow; gaps are fine: only what was received counts.
  void received(std::uint64_t position);
  // False where `position` was never received, or settled before: ignored.
  bool settled(std::uint64_t position);

  // The last position up to which everything received is settled; none before the first.
  std::optional<std::uint64_t> prefix() const noexcept { return prefix_; }
  std::size_t open() const noexcept { return open_; }  // received and not settled

 private:
  struct Entry {
    std::uint64_t position;
    bool settled;
  };
  std::deque<Entry> entries_;
  std::optional<std::uint64_t> prefix_;
  std::size_t open_ = 0;
};

}  // namespace semel::core
