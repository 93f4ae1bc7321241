// SlotMap: which node of a Cluster owns which slot.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "clients/redis/reply.h"
#include "clients/redis/url.h"

namespace semel::redis {

inline constexpr std::size_t kClusterSlots = 16'384;

// The part of a name that decides its slot: the text between the first pair of braces; the whole
// name if there is none or it is empty.
std::string_view hash_tag(std::string_view name) noexcept;
// CRC16 (XMODEM) of the hash tag.
std::uint16_t cluster_slot(std::string_view name) noexcept;

// A name in the same slot, which ends with `what`.
std::string name_beside(std::string_view name, std::string_view what);
// A name in the same slot under which nothing is ever stored.
std::string unused_name_beside(std::string_view name);

// Reads "10.0.0.1:7001", "[::1]:7001" or "::1:7001"; `own_host` stands in for a missing host. The
// port is 0 if the text cannot be read.
Endpoint parse_endpoint(std::string_view text, const std::string& own_host);

// Not thread-safe.
class SlotMap {
 public:
  // Reads the reply to CLUSTER SLOTS. `own_host`: the host of the node that was asked; it replaces
  // a missing host. Throws core::Failure (R200) if the reply has another form.
  static SlotMap read(const Reply& reply, const std::string& own_host);

  // Null if no node owns the slot.
  const Endpoint* owner(std::uint16_t slot) const noexcept {
    return owners_[slot] == 0 ? nullptr : &masters_[owners_[slot] - 1U];
  }
  void moved(std::uint16_t slot, const Endpoint& to);
  // Every master that the map names, in the order of their first slots.
  const std::vector<Endpoint>& masters() const noexcept { return masters_; }
  // Every replica that the map names.
  const std::vector<Endpoint>& replicas() const noexcept { return replicas_; }

 private:
  std::uint16_t number_of(const Endpoint& endpoint);

  std::vector<Endpoint> masters_;
  std::vector<Endpoint> replicas_;
  std::array<std::uint16_t, kClusterSlots> owners_{};  // 0: no owner, otherwise its index plus one
};

}  // namespace semel::redis
