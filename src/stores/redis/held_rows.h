// A held row as bytes in its lane: a head that scripts change, and a body that stays as it was
// written. All numbers are big-endian.
//
//   head: 1 version · 1 flags · 6 ready, 0 is at once · 6 place in its line · 4 attempts · 6 first
//   seen · 4 bytes of its payload · 8 holder, a take · 16 fingerprint · 20 id of the record it
//   is held for · line behind 4 bytes of its size · key
//   body: origin behind 4 bytes of its size · headers likewise · payload
//   origin: type, content type, partition, position, each behind 4 bytes of its size · 1 flags · 6
//   the broker's time · the broker's key
//
// A tag contains the consumer, the lane, and a number that no other row of the consumer ever has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>

#include "clients/redis/reply.h"

namespace semel::redis {

// The number of lanes that hold a consumer's rows. It must never change.
inline constexpr unsigned kLanes = 16;
// A tag has room for no greater one.
inline constexpr std::uint32_t kMaxConsumer = (1U << 17U) - 1;
// A message due in the far future is due by then.
inline constexpr std::chrono::milliseconds kLongestWait{std::chrono::hours(24 * 365 * 200)};

struct RowPlace {
  std::uint32_t consumer = 0;
  unsigned lane = 0;
  std::uint64_t number = 0;

  std::string number_text() const;
};

RowTag tag_of(const RowPlace& place);
// nullopt for an invalid tag.
std::optional<RowPlace> place_of(RowTag tag);

void set_place(Arrival& row, const RowPlace& place);

unsigned lane_of_line(BytesView line) noexcept;
unsigned lane_of_id(const KeyId& id) noexcept;

// Zero or more, and small enough that adding the clock does not overflow.
std::int64_t wait_of(std::chrono::milliseconds delay) noexcept;

struct NewRow {
  unsigned lane = 0;
  Bytes head;
  Bytes body;
};
// For a message whose key is known; `arrival` may be null.
NewRow row_of(const Message& message, const Arrival* arrival);
NewRow row_of(const OutgoingMessage& message);
// A row's arguments for Scripts::append: four words.
std::array<Bytes, 4> words_of(ConsumerNumber consumer, const OutgoingMessage& message);

// The parts of the body that describe a message and its origin, for letters.
struct Origin {
  std::string type;
  std::string content_type;
  std::string partition;
  std::string position;
  std::optional<Bytes> broker_key;
  std::optional<StoreTime> broker_time;
};
Origin origin_of(BytesView bytes);
Bytes bytes_of(const Origin& origin);

// The row whose lane and number are at `at` in a list.
RowPlace place_at(const std::vector<Reply>& list, std::size_t at, std::uint32_t consumer);
// The row whose lane, number, head and body are at `at` in a list that begins with the time.
Arrival arrival_at(const std::vector<Reply>& list, std::size_t at, std::uint32_t consumer);

}  // namespace semel::redis
