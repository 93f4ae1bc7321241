// Encodes a key's text as its id: a canonical UUID, a ULID and a position keep their order, all
// else becomes a digest.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <semel/key.h>

namespace semel::core {

// The two lowest bits of an id's first four bytes; the consumer number is above them.
enum class KeyClass : std::uint8_t { kDigest = 0, kUuid = 1, kUlid = 2, kPosition = 3 };

inline constexpr unsigned kKeyClassBits = 2;
static_assert(kMaxConsumerNumber == (1U << (32 - kKeyClassBits)) - 1);

// A UUID counts as one only in canonical lower-case form, and a ULID only in canonical upper-case
// form: otherwise two texts would share an id.
KeyId encode_key(ConsumerNumber consumer, BytesView text) noexcept;

// For keys taken from `position`: `high` names the partition (a digest of it), `low` counts within
// it.
KeyId encode_position(ConsumerNumber consumer, std::string_view partition,
                      std::uint64_t position) noexcept;

// For an arrival that has no key: a digest of what came, and where. Differs from every key's id.
KeyId encode_refused(ConsumerNumber consumer, BytesView partition, BytesView position,
                     BytesView payload) noexcept;

KeyClass class_of(const KeyId& id) noexcept;

// The first and the last id a consumer's records can have.
std::pair<KeyId, KeyId> ids_of(ConsumerNumber consumer) noexcept;

}  // namespace semel::core
