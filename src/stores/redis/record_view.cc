#include "stores/redis/record_view.h"

#include <algorithm>
#include <utility>

#include "stores/redis/record.h"

namespace semel::redis {
namespace {

constexpr std::size_t kSize = 4;
constexpr std::size_t kToken = 7;

std::uint64_t number_of(BytesView bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

// For a record that is not completed, and was decoded.
Bytes key_text(BytesView bytes, RecordState state) {
  const std::size_t at = state == RecordState::kConsuming ? kNonceEnd : kHead;
  if (bytes.size() < at + kSize) return {};
  return Bytes(bytes.substr(at + kSize, number_of(bytes.substr(at, kSize))));
}

}  // namespace

RecordView view_of(const KeyId& id, BytesView bytes) {
  RecordView view = spi::view_of(id, decoded(bytes));
  if (view.state != RecordState::kCompleted) view.key = key_text(bytes, view.state);
  return view;
}

bool is_unfinished(BytesView beginning, std::optional<RecordState> state) {
  if (beginning.empty()) return false;
  if (!is_known_format(beginning.front()) || beginning.size() < 2) return true;
  const char letter = beginning[1];
  return state ? letter == state_letter(*state) : letter != state_letter(RecordState::kCompleted);
}

char state_letter(RecordState state) noexcept {
  switch (state) {
    case RecordState::kConsuming:
      return 'C';
    case RecordState::kCompleted:
      return 'D';
    case RecordState::kRetrying:
      return 'R';
    case RecordState::kParked:
      return 'P';
    case RecordState::kDead:
      break;
  }
  return 'X';
}

Bytes token_bytes(std::uint64_t token) {
  Bytes bytes(kToken, '\0');
  for (std::size_t i = kToken; i-- > 0; token >>= 8U) bytes[i] = static_cast<char>(token & 0xFFU);
  return bytes;
}

ConsumerNumber number_in(BytesView known) {
  return ConsumerNumber{static_cast<std::uint32_t>(number_of(known.substr(0, kSize)))};
}

}  // namespace semel::redis
