// SlotMap: which node of a Cluster has which slot.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/reply.h"
#include "stores/redis/url.h"

namespace semel::redis {

inline constexpr std::size_t kClusterSlots = 16'384;

// What decides a name's slot: what stands between the first brace and the next, where that is
// something; else all of it.
std::string_view hash_tag(std::string_view name) noexcept;
// CRC16 (XMODEM) of that.
std::uint16_t cluster_slot(std::string_view name) noexcept;

// "10.0.0.1:7001", "[::1]:7001", "::1:7001"; without a host the one given. Port 0 where it cannot
// be read.
NodePlace place_in(std::string_view text, const std::string& own_host);

// Not for several threads.
class SlotMap {
 public:
  // As CLUSTER SLOTS answers. `own_host`: of the node that was asked, where it names no host.
  // Throws core::Failure (R200) where it is no such answer.
  static SlotMap read(const Reply& reply, const std::string& own_host);

  // Null where nobody has it.
  const NodePlace* owner(std::uint16_t slot) const noexcept {
    return owners_[slot] == 0 ? nullptr : &masters_[owners_[slot] - 1U];
  }
  void moved(std::uint16_t slot, const NodePlace& to);
  // Those that were told of, in the order of their first slots.
  const std::vector<NodePlace>& masters() const noexcept { return masters_; }

 private:
  std::uint16_t number_of(const NodePlace& place);

  std::vector<NodePlace> masters_;
  std::array<std::uint16_t, kClusterSlots> owners_{};  // 0: nobody, else one more than its place
};

}  // namespace semel::redis
