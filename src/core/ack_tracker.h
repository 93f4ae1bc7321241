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

  // Positions after the prefix, settled or not, have places, counted from zero. The first one is
  // always open.
  std::size_t behind() const noexcept { return entries_.size(); }
  // nullopt where `position` is not open.
  std::optional<std::size_t> place_of(std::uint64_t position) const noexcept;
  std::uint64_t position_at(std::size_t place) const { return entries_[place].position; }
  bool open_at(std::size_t place) const { return !entries_[place].settled; }

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
