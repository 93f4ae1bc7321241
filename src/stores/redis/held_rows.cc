#include "stores/redis/held_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/headers_text.h"
#include "core/key_encoding.h"
#include "stores/redis/byte_reader.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kNumberBits = 42;
constexpr unsigned kLaneBits = 4;
constexpr char kRowFormat = 1;

constexpr unsigned kSuspect = 1;
constexpr unsigned kHasKey = 16;
constexpr unsigned kHasLine = 32;
constexpr unsigned kHasPrint = 64;

constexpr unsigned kHasBrokerKey = 1;
constexpr unsigned kHasBrokerTime = 2;

Bytes body_of(const Origin& origin, const Headers& headers, BytesView payload) {
  Bytes body;
  append_sized(body, bytes_of(origin));
  append_sized(body, core::text_of(headers));
  body += payload;
  return body;
}

Bytes held_head(const std::optional<Bytes>& key, const std::optional<Fingerprint>& print,
                const std::optional<Bytes>& line, std::size_t payload) {
  const unsigned flags = (key ? kHasKey : 0U) | (line ? kHasLine : 0U) | (print ? kHasPrint : 0U);
  Bytes head(1, kRowFormat);
  append_number(head, flags, 1);
  head.append(6 + 6 + 4 + 6, '\0');
  append_number(head, payload, 4);
  head.append(8, '\0');
  head += print.value_or(Fingerprint{}).view();
  head += KeyId{}.view();
  append_sized(head, line.value_or(Bytes()));
  if (key) head += *key;
  return head;
}

Arrival arrival_of(const RowPlace& place, BytesView head, BytesView body, StoreTime now) {
  Arrival arrival;
  set_place(arrival, place);
  ByteReader cut(head);
  cut.number(1);
  const auto flags = static_cast<unsigned>(cut.number(1));
  cut.number(6);
  cut.number(6);
  arrival.suspect = (flags & kSuspect) != 0;
  arrival.attempts = static_cast<int>(cut.number(4));
  const StoreTime first = cut.time();
  if (first != StoreTime{}) arrival.since_first = std::max(now - first, milliseconds(0));
  cut.number(4);
  cut.number(8);
  Fingerprint print;
  cut.fill(print.bytes);
  if ((flags & kHasPrint) != 0) arrival.fingerprint = print;
  cut.bytes(KeyId::kSize);
  Bytes line = cut.sized();
  if ((flags & kHasLine) != 0) arrival.line = std::move(line);
  if ((flags & kHasKey) != 0) arrival.key = cut.rest();

  ByteReader rest(body);
  Origin origin = origin_of(rest.sized());
  arrival.type = std::move(origin.type);
  arrival.content_type = std::move(origin.content_type);
  arrival.partition = std::move(origin.partition);
  arrival.position = std::move(origin.position);
  arrival.broker_key = std::move(origin.broker_key);
  if (origin.broker_time) arrival.broker_time = *origin.broker_time;
  arrival.headers = core::headers_of(rest.sized());
  arrival.payload = rest.rest();
  return arrival;
}

}  // namespace

std::string RowPlace::number_text() const { return fmt::format("{:013}", number); }

RowTag tag_of(const RowPlace& place) {
  const std::uint64_t tag =
      (std::uint64_t{place.consumer} << kLaneBits | place.lane) << kNumberBits | place.number;
  return RowTag{static_cast<std::int64_t>(tag)};
}

std::optional<RowPlace> place_of(RowTag tag) {
  if (static_cast<std::int64_t>(tag) <= 0) return std::nullopt;
  const auto bits = static_cast<std::uint64_t>(tag);
  RowPlace place;
  place.number = bits & ((std::uint64_t{1} << kNumberBits) - 1);
  place.lane = static_cast<unsigned>(bits >> kNumberBits) & (kLanes - 1);
  place.consumer = static_cast<std::uint32_t>(bits >> (kNumberBits + kLaneBits));
  return place;
}

void set_place(Arrival& row, const RowPlace& place) {
  row.row = tag_of(place);
  row.tag.value = static_cast<std::uint64_t>(*row.row);
}

unsigned lane_of_line(BytesView line) noexcept {
  std::uint32_t mixed = 2'166'136'261U;
  for (const char byte : line) mixed = (mixed ^ static_cast<unsigned char>(byte)) * 16'777'619U;
  return (mixed ^ mixed >> 16U) % kLanes;
}

unsigned lane_of_id(const KeyId& id) noexcept { return id.bytes.back() % kLanes; }

std::int64_t wait_of(milliseconds delay) noexcept {
  return std::clamp(delay, milliseconds(0), milliseconds(kLongestWait)).count();
}

NewRow row_of(const Message& message, const Arrival* arrival) {
  Origin origin{message.type(), message.content_type(), {}, {}, {}, {}};
  std::optional<Bytes> key, line;
  std::optional<Fingerprint> print;
  if (!message.key().text.empty()) {
    key = message.key().text;
    print = message.fingerprint();
  }
  if (arrival != nullptr) {
    origin.partition = arrival->partition;
    origin.position = arrival->position;
    origin.broker_key = arrival->broker_key;
    if (arrival->broker_time) {
      origin.broker_time = std::chrono::time_point_cast<milliseconds>(*arrival->broker_time);
    }
    line = arrival->line;
  }
  return {line ? lane_of_line(*line) : lane_of_id(message.key().id),
          held_head(key, print, line, message.payload().size()),
          body_of(origin, message.headers(), message.payload())};
}

NewRow row_of(const OutgoingMessage& message) {
  const Origin origin{message.type, message.content_type, {}, {}, {}, {}};
  return {0, held_head(message.key, {}, {}, message.payload.size()),
          body_of(origin, message.headers, message.payload)};
}

std::array<Bytes, 4> words_of(ConsumerNumber consumer, const OutgoingMessage& message) {
  NewRow row = row_of(message);
  std::string lane;
  if (message.key) lane = std::to_string(lane_of_id(core::encode_key(consumer, *message.key)));
  return {std::move(lane), std::to_string(wait_of(message.delay)), std::move(row.head),
          std::move(row.body)};
}

Origin origin_of(BytesView bytes) {
  ByteReader cut(bytes);
  Origin origin;
  origin.type = cut.sized();
  origin.content_type = cut.sized();
  origin.partition = cut.sized();
  origin.position = cut.sized();
  const auto flags = static_cast<unsigned>(cut.number(1));
  const StoreTime time = cut.time();
  if ((flags & kHasBrokerTime) != 0) origin.broker_time = time;
  if ((flags & kHasBrokerKey) != 0) origin.broker_key = cut.rest();
  return origin;
}

Bytes bytes_of(const Origin& origin) {
  Bytes bytes;
  append_sized(bytes, origin.type);
  append_sized(bytes, origin.content_type);
  append_sized(bytes, origin.partition);
  append_sized(bytes, origin.position);
  append_number(
      bytes, (origin.broker_key ? kHasBrokerKey : 0U) | (origin.broker_time ? kHasBrokerTime : 0U),
      1);
  const StoreTime time = origin.broker_time.value_or(StoreTime{});
  append_number(bytes, static_cast<std::uint64_t>(time.time_since_epoch().count()), 6);
  if (origin.broker_key) bytes += *origin.broker_key;
  return bytes;
}

RowPlace place_at(const std::vector<Reply>& list, std::size_t at, std::uint32_t consumer) {
  RowPlace place;
  place.consumer = consumer;
  place.lane = static_cast<unsigned>(list.at(at).number);
  const Bytes& number = list.at(at + 1).bytes;
  std::from_chars(number.data(), number.data() + number.size(), place.number);
  return place;
}

Arrival arrival_at(const std::vector<Reply>& list, std::size_t at, std::uint32_t consumer) {
  const StoreTime now{milliseconds(list.at(0).number)};
  return arrival_of(place_at(list, at, consumer), list.at(at + 2).bytes, list.at(at + 3).bytes,
                    now);
}

}  // namespace semel::redis
