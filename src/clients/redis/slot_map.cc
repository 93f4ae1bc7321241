#include "clients/redis/slot_map.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/failure.h"

namespace semel::redis {
namespace {

constexpr std::array<std::uint16_t, 256> crc_table() {
  constexpr unsigned kPolynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? crc << 1U ^ kPolynomial : crc << 1U;
    }
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr auto kCrc = crc_table();

[[noreturn]] void no_map() {
  core::fail({ErrorKind::kUnavailable, "R200",
              "the Redis server does not tell which node of its Cluster has which slot",
              "redis-cli CLUSTER SLOTS shows what it says"});
}

// A node of a range: its host and its port come first.
Endpoint endpoint_in(const Reply& node, const std::string& own_host) {
  const Bytes& host = node.list[0].bytes;
  const bool own = host.empty() || host == "?";
  return {own ? own_host : host, static_cast<unsigned>(node.list[1].number)};
}

}  // namespace

std::string_view hash_tag(std::string_view name) noexcept {
  const auto open = name.find('{');
  if (open == std::string_view::npos) return name;
  const auto close = name.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return name;
  return name.substr(open + 1, close - open - 1);
}

std::uint16_t cluster_slot(std::string_view name) noexcept {
  unsigned crc = 0;
  for (const char c : hash_tag(name)) {
    crc = (crc << 8U ^ kCrc[(crc >> 8U ^ static_cast<unsigned char>(c)) & 0xFFU]) & 0xFFFFU;
  }
  return static_cast<std::uint16_t>(crc % kClusterSlots);
}

std::string name_beside(std::string_view name, std::string_view what) {
  const auto close = name.find('}');
  std::string beside = close == std::string_view::npos ? "{" + std::string(name) + "}"
                                                       : std::string(name.substr(0, close + 1));
  return beside += what;
}

std::string unused_name_beside(std::string_view name) { return name_beside(name, "nowhere"); }

Endpoint parse_endpoint(std::string_view text, const std::string& own_host) {
  Endpoint endpoint;
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return endpoint;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  endpoint.host = host.empty() || host == "?" ? own_host : std::string(host);
  const std::string_view port = text.substr(colon + 1);
  std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  return endpoint;
}

SlotMap SlotMap::read(const Reply& reply, const std::string& own_host) {
  SlotMap map;
  if (reply.kind != Reply::Kind::kList) no_map();
  for (const Reply& range : reply.list) {
    if (range.list.size() < 3 || range.list[2].list.size() < 2) no_map();
    const std::int64_t first = range.list[0].number, last = range.list[1].number;
    if (first < 0 || last < first || last >= static_cast<std::int64_t>(kClusterSlots)) no_map();
    const auto number = map.number_of(endpoint_in(range.list[2], own_host));
    for (std::size_t i = 3; i < range.list.size(); ++i) {
      if (range.list[i].list.size() < 2) no_map();
      Endpoint replica = endpoint_in(range.list[i], own_host);
      if (std::ranges::find(map.replicas_, replica) == map.replicas_.end()) {
        map.replicas_.push_back(std::move(replica));
      }
    }
    std::fill(map.owners_.begin() + first, map.owners_.begin() + last + 1, number);
  }
  return map;
}

void SlotMap::moved(std::uint16_t slot, const Endpoint& to) { owners_[slot] = number_of(to); }

std::uint16_t SlotMap::number_of(const Endpoint& endpoint) {
  auto found = std::ranges::find(masters_, endpoint);
  if (found == masters_.end()) found = masters_.insert(found, endpoint);
  return static_cast<std::uint16_t>(found - masters_.begin() + 1);
}

}  // namespace semel::redis
