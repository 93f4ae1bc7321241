#include "stores/redis/letter.h"

#include "base/digest.h"
#include "core/headers_text.h"
#include "core/key_encoding.h"
#include "stores/redis/byte_reader.h"

namespace semel::redis {
namespace {

constexpr char kLetterFormat = 1;

Bytes by_record(const KeyId& id) { return "k" + Bytes(id.view()); }

Bytes by_position(ConsumerNumber consumer, BytesView partition, BytesView position) {
  if (position.empty()) return {};
  Bytes identity = "p";
  append_number(identity, static_cast<std::uint32_t>(consumer), 4);
  const BytesView parts[] = {partition, position};
  identity +=
      digest::view(digest::shortened(digest::sha256_parts("semel.dead_letter.position", parts)));
  return identity;
}

std::uint64_t milliseconds_of(StoreTime time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

}  // namespace

Bytes identity_of(const Message& message, const Arrival* arrival) {
  const KeyId& id = message.key().id;
  if (!message.key().text.empty()) return by_record(id);
  if (arrival == nullptr) return {};
  return by_position(id.consumer(), arrival->partition, arrival->position);
}

Bytes head_of(const Letter& letter) {
  const DeadLetter& told = letter.told;
  Bytes head(1, kLetterFormat);
  append_number(head, static_cast<std::uint32_t>(letter.consumer), 4);
  append_number(head, static_cast<std::uint32_t>(told.replayed), 4);
  append_number(head, static_cast<std::uint32_t>(told.attempts), 4);
  append_number(head, milliseconds_of(told.first_seen), 6);
  append_number(head, milliseconds_of(told.dead_at), 6);
  head += told.fingerprint.view();
  head += letter.record.value_or(KeyId{}).view();
  append_sized(head, letter.identity);
  append_sized(head, told.key);
  append_sized(head, told.reason);
  head += told.error;
  return head;
}

Bytes content_of(const Headers& headers, BytesView payload) {
  Bytes content;
  append_sized(content, core::text_of(headers));
  content += payload;
  return content;
}

Letter letter_in(BytesView head) {
  ByteReader cut(head);
  const std::uint64_t format = cut.number(1);
  if (format > kLetterFormat) {
    core::fail({ErrorKind::kRejected, "R210", "a newer Semel has written dead letters here",
                "run the newer program, or use another prefix"});
  }
  Letter letter;
  DeadLetter& told = letter.told;
  letter.consumer = ConsumerNumber{static_cast<std::uint32_t>(cut.number(4))};
  told.replayed = static_cast<int>(cut.number(4));
  told.attempts = static_cast<int>(cut.number(4));
  told.first_seen = cut.time();
  told.dead_at = cut.time();
  cut.fill(told.fingerprint.bytes);
  KeyId record;
  cut.fill(record.bytes);
  if (record != KeyId{}) letter.record = record;
  letter.identity = cut.sized();
  told.key = cut.sized();
  told.reason = cut.sized();
  told.error = cut.rest();
  return letter;
}

std::optional<KeyId> record_in(BytesView head) { return letter_in(head).record; }

Letter letter_of(BytesView head, BytesView origin, BytesView content) {
  Letter letter = letter_in(head);
  DeadLetter& told = letter.told;
  Origin from = origin_of(origin);
  told.type = std::move(from.type);
  told.content_type = std::move(from.content_type);
  told.partition = std::move(from.partition);
  told.position = std::move(from.position);
  if (content.empty()) return letter;
  ByteReader rest(content);
  told.headers = core::headers_of(rest.sized());
  told.payload = rest.rest();
  return letter;
}

Letter letter_of(const ForeignLetter& foreign, ConsumerNumber consumer) {
  Letter letter;
  letter.consumer = consumer;
  letter.record = foreign.record;
  letter.told = foreign.letter;
  const DeadLetter& told = foreign.letter;
  letter.identity = told.key.empty()
                        ? by_position(consumer, told.partition, told.position)
                        : by_record(foreign.record.value_or(core::encode_key(consumer, told.key)));
  return letter;
}

Bytes origin_of(const DeadLetter& letter) {
  return bytes_of(
      Origin{letter.type, letter.content_type, letter.partition, letter.position, {}, {}});
}

}  // namespace semel::redis
