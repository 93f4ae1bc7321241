#include "core/key_encoding.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/digest.h"

namespace semel::core {
namespace {

constexpr std::size_t kHead = 4;
constexpr std::size_t kTail = KeyId::kSize - kHead;
using Tail = std::array<unsigned char, kTail>;

KeyId make_id(ConsumerNumber consumer, KeyClass key_class, const Tail& tail) noexcept {
  const auto number = static_cast<std::uint32_t>(consumer);
  if (number > kMaxConsumerNumber) {
    std::fputs("semel: a consumer number is too large for a key\n", stderr);
    std::abort();
  }
  const std::uint32_t head = number << kKeyClassBits | static_cast<std::uint32_t>(key_class);
  KeyId id;
  for (std::size_t i = 0; i < kHead; ++i) {
    id.bytes[i] = static_cast<unsigned char>(head >> (8 * (kHead - 1 - i)));
  }
  std::copy(tail.begin(), tail.end(), id.bytes.begin() + kHead);
  return id;
}

constexpr unsigned char kNoDigit = 0xFF;

// The value of each digit of an alphabet, and kNoDigit for all other bytes. A table, because a
// processor cannot predict branches on the mixed digits and letters of a random key.
constexpr std::array<unsigned char, 256> values_of(std::string_view alphabet) {
  std::array<unsigned char, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<unsigned char>(i);
  }
  return values;
}

constexpr std::array<unsigned char, 256> kHexValues = values_of("0123456789abcdef");

// 8-4-4-4-12 lower-case hexadecimal digits.
std::optional<Tail> canonical_uuid(BytesView text) noexcept {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return std::nullopt;
  if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
  // Where each byte's two digits begin.
  constexpr unsigned char kAt[kTail] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
  Tail tail;
  unsigned all = 0;
  for (std::size_t i = 0; i < kTail; ++i) {
    const unsigned high = kHexValues[static_cast<unsigned char>(text[kAt[i]])];
    const unsigned low = kHexValues[static_cast<unsigned char>(text[kAt[i] + 1U])];
    all |= high | low;
    tail[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (all >= 16) return std::nullopt;
  return tail;
}

// Crockford's base 32 without I, L, O and U.
constexpr std::array<unsigned char, 256> kUlidValues =
    values_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ");

// `kLength` digits of five bits are two bits more than fit: so the first digit is 7 at most.
std::optional<Tail> canonical_ulid(BytesView text) noexcept {
  constexpr std::size_t kLength = 26;
  if (text.size() != kLength || text[0] > '7') return std::nullopt;
  std::uint64_t high = 0, low = 0;
  for (const char c : text) {
    const unsigned char value = kUlidValues[static_cast<unsigned char>(c)];
    if (value == kNoDigit) return std::nullopt;
    high = high << 5 | low >> 59;
    low = low << 5 | static_cast<std::uint64_t>(value);
  }
  Tail tail;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[i] = static_cast<unsigned char>(high >> (8 * (7 - i)));
    tail[i + 8] = static_cast<unsigned char>(low >> (8 * (7 - i)));
  }
  return tail;
}

Tail digest_of(std::string_view domain, BytesView text) noexcept {
  const BytesView parts[] = {text};
  return digest::shortened(digest::sha256_parts(domain, parts));
}

}  // namespace

KeyId encode_key(ConsumerNumber consumer, BytesView text) noexcept {
  if (const auto tail = canonical_uuid(text)) return make_id(consumer, KeyClass::kUuid, *tail);
  if (const auto tail = canonical_ulid(text)) return make_id(consumer, KeyClass::kUlid, *tail);
  return make_id(consumer, KeyClass::kDigest, digest_of("semel.key", text));
}

KeyId encode_position(ConsumerNumber consumer, std::string_view partition,
                      std::uint64_t position) noexcept {
  Tail tail = digest_of("semel.partition", partition);
  for (std::size_t i = 0; i < 8; ++i) {
    tail[i + 8] = static_cast<unsigned char>(position >> (8 * (7 - i)));
  }
  return make_id(consumer, KeyClass::kPosition, tail);
}

KeyId encode_refused(ConsumerNumber consumer, BytesView partition, BytesView position,
                     BytesView payload) noexcept {
  const BytesView parts[] = {partition, position, payload};
  return make_id(consumer, KeyClass::kDigest,
                 digest::shortened(digest::sha256_parts("semel.refused", parts)));
}

KeyClass class_of(const KeyId& id) noexcept {
  return static_cast<KeyClass>(id.bytes[kHead - 1] & ((1U << kKeyClassBits) - 1));
}

std::pair<KeyId, KeyId> ids_of(ConsumerNumber consumer) noexcept {
  Tail first, last;
  first.fill(0x00);
  last.fill(0xff);
  return {make_id(consumer, KeyClass::kDigest, first),
          make_id(consumer, KeyClass::kPosition, last)};
}

}  // namespace semel::core
