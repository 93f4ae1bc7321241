#include "stores/redis/record.h"

#include "stores/redis/byte_reader.h"

namespace semel::redis {
namespace {

constexpr unsigned kUnknown = 1;
constexpr unsigned kRowIsHeld = 2;
// No version is ever a character that a text might begin with.
constexpr char kGreatestFormat = 31;

RecordState state_of(char letter) {
  switch (letter) {
    case 'C':
      return RecordState::kConsuming;
    case 'D':
      return RecordState::kCompleted;
    case 'R':
      return RecordState::kRetrying;
    case 'P':
      return RecordState::kParked;
    case 'X':
      return RecordState::kDead;
    default:
      damaged();
  }
}

}  // namespace

spi::Record decoded(BytesView bytes) {
  if (bytes.empty()) damaged();
  if (bytes.front() > kJournalFormat && bytes.front() <= kGreatestFormat) {
    core::fail({ErrorKind::kRejected, "R210", "a newer Semel has written records to this store",
                "run the newer program, or use another prefix"});
  }
  if (!is_known_format(bytes.front()) || bytes.size() < kHead) damaged();
  spi::Record record;
  ByteReader cut(bytes.substr(1));
  record.state = state_of(cut.bytes(1).front());
  const auto flags = cut.number(1);
  record.outcome_unknown = (flags & kUnknown) != 0;
  record.held = (flags & kRowIsHeld) != 0;
  record.attempt = static_cast<int>(cut.number(4));
  record.token = Token{cut.number(7)};
  record.first_seen = cut.time();
  const StoreTime until = cut.time();
  if (record.state == RecordState::kConsuming) record.lease_until = until;
  if (record.state == RecordState::kRetrying) record.next_at = until;
  if (record.state == RecordState::kCompleted) record.completed_at = until;
  cut.fill(record.fingerprint.bytes);
  if (record.state == RecordState::kConsuming) cut.fill(record.nonce.bytes);
  if (cut.empty()) return record;
  if (record.state != RecordState::kCompleted) cut.sized();
  if (cut.empty()) return record;
  const bool journalled = bytes.front() == kJournalFormat;
  if (journalled) cut.sized();
  record.reason = cut.sized();
  record.error = cut.sized();
  if (!journalled) record.result = cut.rest();
  return record;
}

Bytes ending_of(BytesView reason, BytesView error, BytesView result) {
  Bytes ending;
  if (reason.empty() && error.empty() && result.empty()) return ending;
  append_sized(ending, reason);
  append_sized(ending, error);
  ending += result;
  return ending;
}

}  // namespace semel::redis
