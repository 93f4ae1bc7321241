#include "stores/redis/names.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace semel::redis {
namespace {

// Which bytes of an id are as good as random hangs on the class of its key: all of them are mixed
// (FNV-1a).
unsigned slot_of(const KeyId& id) noexcept {
  std::uint32_t mixed = 2'166'136'261U;
  for (const unsigned char byte : id.bytes) mixed = (mixed ^ byte) * 16'777'619U;
  return (mixed ^ mixed >> 16U) % kSlots;
}

}  // namespace

Names::Names(std::string all_begin_with, bool on_cluster)
    : consumers(all_begin_with + "{store}consumers"),
      numbers(all_begin_with + "{store}numbers"),
      letters(all_begin_with + "{store}letters"),
      runs(all_begin_with + "{store}runs"),
      prefix(std::move(all_begin_with)),
      cluster(on_cluster) {}

std::string Names::of_store(const std::string& what) const { return prefix + "{store}" + what; }

std::string Names::record(const KeyId& id) const { return in_slot(id, {}); }

std::string Names::crash(const KeyId& id) const { return in_slot(id, "crash:"); }

std::string Names::last_row(ConsumerNumber consumer) const {
  return prefix + "{h" + std::to_string(static_cast<std::uint32_t>(consumer)) + "}last";
}

std::string Names::lane(ConsumerNumber consumer, unsigned lane) const {
  const auto number = static_cast<std::uint32_t>(consumer);
  return cluster ? fmt::format("{}{{h{}}}{}.", prefix, number, lane)
                 : fmt::format("{}{{h{}.{}}}", prefix, number, lane);
}

std::string Names::token_of(std::string_view record) const {
  constexpr std::size_t kSlot = 4;
  if (!cluster) return prefix + "{store}token";
  return std::string(record.substr(0, prefix.size() + kSlot)) + "token";
}

std::vector<std::string> Names::tokens() const {
  if (!cluster) return {token_of({})};
  std::vector<std::string> all;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    all.push_back(fmt::format("{}{{{:02x}}}token", prefix, slot));
  }
  return all;
}

std::string nowhere_beside(std::string_view name) {
  const auto close = name.find('}');
  return std::string(name.substr(0, close + 1)) + "nowhere";
}

std::string Names::in_slot(const KeyId& id, std::string_view what) const {
  static_assert(kSlots == 256, "two digits");
  constexpr const char* kDigits = "0123456789abcdef";
  const unsigned slot = slot_of(id);
  std::string name;
  name.reserve(prefix.size() + 4 + what.size() + KeyId::kSize);
  name += prefix;
  name += '{';
  name += kDigits[slot / 16];
  name += kDigits[slot % 16];
  name += '}';
  name += what;
  name += id.view();
  return name;
}

std::optional<KeyId> Names::id_of(std::string_view name) const {
  constexpr std::size_t kSlot = 4;
  KeyId id;
  if (name.size() != prefix.size() + kSlot + KeyId::kSize) return std::nullopt;
  std::memcpy(id.bytes.data(), name.data() + prefix.size() + kSlot, KeyId::kSize);
  if (record(id) != name) return std::nullopt;
  return id;
}

}  // namespace semel::redis
