#include "stores/redis/names.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "clients/redis/slot_map.h"

namespace semel::redis {
namespace {

// The class of a key determines which bytes of its id are random: so all of them are mixed
// (FNV-1a).
unsigned slot_of(const KeyId& id) noexcept {
  std::uint32_t mixed = 2'166'136'261U;
  for (const unsigned char byte : id.bytes) mixed = (mixed ^ byte) * 16'777'619U;
  return (mixed ^ mixed >> 16U) % kSlots;
}

constexpr std::size_t kTag = 2;
constexpr std::size_t kBraced = kTag + 2;
using Tags = std::array<std::array<char, kTag>, kSlots>;

// The first tag in each of the equal ranges of a Cluster's slots. Without h, which begins the tags
// of held rows.
Tags make_tags() {
  constexpr std::string_view kCharacters = "0123456789abcdefgijklmnopqrstuvwxyz";
  Tags tags{};
  for (const char first : kCharacters) {
    for (const char second : kCharacters) {
      const std::array<char, kTag> tag = {first, second};
      auto& place = tags[cluster_slot({tag.data(), kTag}) / (kClusterSlots / kSlots)];
      if (place.front() == '\0') place = tag;
    }
  }
  return tags;
}

}  // namespace

std::string_view tag_of(unsigned slot) noexcept {
  static const Tags tags = make_tags();
  return {tags[slot].data(), kTag};
}

Names::Names(std::string all_begin_with, bool on_cluster)
    : consumers(all_begin_with + "{store}consumers"),
      numbers(all_begin_with + "{store}numbers"),
      ttls(all_begin_with + "{store}ttls"),
      letters(all_begin_with + "{store}letters"),
      runs(all_begin_with + "{store}runs"),
      prefix(std::move(all_begin_with)),
      cluster(on_cluster) {}

std::string Names::of_store(const std::string& what) const { return prefix + "{store}" + what; }

std::string Names::record(const KeyId& id) const {
  std::string name;
  append_record(name, id);
  return name;
}

void Names::append_record(Bytes& to, const KeyId& id) const {
  append_in_slot(to, id, {});
  to += id.view();
}

std::string Names::crash(const KeyId& id) const {
  std::string name;
  append_in_slot(name, id, "crash:");
  name += id.view();
  return name;
}

std::uint16_t Names::cluster_slot_of(const KeyId& id) noexcept {
  static const auto slots = [] {
    std::array<std::uint16_t, kSlots> all{};
    for (unsigned slot = 0; slot < kSlots; ++slot) all[slot] = cluster_slot(tag_of(slot));
    return all;
  }();
  return slots[slot_of(id)];
}

std::string Names::last_row(ConsumerNumber consumer) const {
  return prefix + "{h" + std::to_string(static_cast<std::uint32_t>(consumer)) + "}last";
}

std::string Names::lane(ConsumerNumber consumer, unsigned lane) const {
  const auto number = static_cast<std::uint32_t>(consumer);
  return cluster ? fmt::format("{}{{h{}}}{}.", prefix, number, lane)
                 : fmt::format("{}{{h{}.{}}}", prefix, number, lane);
}

std::string Names::token_of(const KeyId& id) const {
  if (!cluster) return prefix + "{store}token";
  std::string name;
  append_in_slot(name, id, "token");
  return name;
}

std::vector<std::string> Names::tokens() const {
  if (!cluster) return {token_of({})};
  std::vector<std::string> all;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    all.push_back(fmt::format("{}{{{}}}token", prefix, tag_of(slot)));
  }
  return all;
}

void Names::append_in_slot(Bytes& to, const KeyId& id, std::string_view what) const {
  to.reserve(to.size() + prefix.size() + kBraced + what.size() + KeyId::kSize);
  to += prefix;
  to += '{';
  to += tag_of(slot_of(id));
  to += '}';
  to += what;
}

std::optional<KeyId> Names::id_of(std::string_view name) const {
  KeyId id;
  if (name.size() != prefix.size() + kBraced + KeyId::kSize) return std::nullopt;
  std::memcpy(id.bytes.data(), name.data() + prefix.size() + kBraced, KeyId::kSize);
  if (record(id) != name) return std::nullopt;
  return id;
}

}  // namespace semel::redis
