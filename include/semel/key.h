// Key: what identifies an effect, in the two forms it is needed in.
//
// `text` is the key as the producer wrote it, for people and for outside services. `id` is the form
// that stores index: fixed length, compared as bytes, unique per (consumer, key). A canonical
// lower-case UUID, a ULID and a position keep their order in it, each in a class of its own; every
// other key becomes a cryptographic digest. No two classes can meet (docs/contract.md, rule 11).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include <semel/bytes.h>

namespace semel {

// The number a store gave a consumer's name: the first part of each of its key ids. Never reused.
enum class ConsumerNumber : std::uint32_t {};
// The largest that a key id has room for.
inline constexpr std::uint32_t kMaxConsumerNumber = (std::uint32_t{1} << 30U) - 1;

struct KeyId {
  static constexpr std::size_t kSize = 20;  // consumer number and class, then the key
  std::array<unsigned char, kSize> bytes{};

  BytesView view() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  ConsumerNumber consumer() const noexcept;
  auto operator<=>(const KeyId&) const = default;
};

struct Key {
  Bytes text;
  KeyId id;

  // The text of a new key, for a message that nothing else names: a UUID of version 7 (RFC 9562) in
  // lower case. Each is greater than those that this process made before it, as text and as id; a
  // child of fork() repeats none of its parent's. It reveals when it was made, and is no secret.
  // Thread-safe.
  [[nodiscard]] static Bytes random();
};

// A digest of what a message says; compared before anything else when a key is met again. All zero
// where the consumer keeps no fingerprint: then every payload under one key counts as the same.
struct Fingerprint {
  static constexpr std::size_t kSize = 16;
  std::array<unsigned char, kSize> bytes{};

  BytesView view() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  auto operator<=>(const Fingerprint&) const = default;
};

}  // namespace semel

template <>
struct std::hash<semel::KeyId> {
  std::size_t operator()(const semel::KeyId& id) const noexcept {
    return std::hash<std::string_view>{}(id.view());
  }
};
