// Arrival and Delivery: one coming of a message, before and after its key is known.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <semel/bytes.h>
#include <semel/message.h>

namespace semel {

// The row of the store's held-messages table that a delivery came from. It travels in Finish, so
// that the row goes in the same commit that makes the record.
enum class RowTag : std::int64_t {};

// What the source needs to settle a delivery; means nothing to anyone else.
struct Tag {
  std::uint64_t value = 0;
  std::uint64_t generation =
      0;  // of the partition's assignment; a settlement of an older one is void
  auto operator<=>(const Tag&) const = default;
};

// What a source receives: bytes and where they came from. Move-only in spirit; copied by tests
// only.
struct Arrival {
  Bytes payload;
  Headers headers;
  std::string content_type;
  std::string type;
  std::string partition;            // topic-partition, file path, queue name: a unit of order
  std::string position;             // names this copy within the source: "orders-3-17", file offset
  std::optional<Bytes> broker_key;  // the record key or producer-set id, where the broker has one
  std::optional<Bytes> key;         // held messages: the key it was held under; outranks the recipe
  std::optional<Fingerprint> fingerprint;  // held messages: likewise
  std::optional<RowTag> row;               // where it is a row of the consumer's own store
  std::optional<std::chrono::system_clock::time_point> broker_time;  // never the producer's clock
  std::optional<std::string> refused;  // the source could not read it whole: a reason; goes to the
                                       // dead letters with the error below and what could be read
  std::string refused_error;
  int attempts = 0;  // held messages without a record: tries made before this one
  std::optional<std::chrono::milliseconds> since_first;  // held messages: since the first try
  // What is of one line runs in its order, also where a message of it must wait. None: it is in no
  // line. Held messages: the line they stand in; for all others the engine sets it.
  std::optional<Bytes> line;
  Tag tag;
  bool suspect = false;  // in hand when a process died: counted first, beside suspects only
  // The engine's own marks; sources leave them alone.
  std::uint32_t source = 0;
  std::chrono::steady_clock::time_point received{};
  std::uint64_t trial = 0;     // of a gate that was shut; zero: none
  std::uint64_t question = 0;  // which of its questions to sources and store this answers
  std::uint64_t number = 0;    // grows with each arrival
  bool answered = false;       // its asynchronous call is over, and it is not yet recorded
  bool follows = false;        // its batch has one before it that it is ordered behind
};

// One arrival of a message. Move-only: exactly one ending belongs to it.
struct Delivery {
  Delivery(Message m, Arrival a) : message(std::move(m)), arrival(std::move(a)) {}
  Delivery(Delivery&&) noexcept = default;
  Delivery& operator=(Delivery&&) noexcept = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  Message message;
  Arrival arrival;  // its payload and headers have moved into the message
};

}  // namespace semel
