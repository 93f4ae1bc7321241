// Arrival and Delivery: one arrival of a message, before and after its key is known.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <semel/bytes.h>
#include <semel/message.h>

namespace semel {

// The row of the store's held-messages table that a delivery came from. A Finish carries it, so
// that the row is removed in the commit that makes the record.
enum class RowTag : std::int64_t {};

// Identifies a delivery to its source, which settles it by this; only the source reads it.
struct Tag {
  std::uint64_t value = 0;
  // Grows with each assignment of partitions, over all partitions of a source. A settlement of an
  // older one is void.
  std::uint64_t generation = 0;
  auto operator<=>(const Tag&) const = default;
};

// A group that reads a stream of a Redis server, as that server knows it.
struct StreamGroup {
  std::string server;     // the run id of the server process: another one after each start
  unsigned database = 0;  // its number there
  std::string stream;
  std::string group;
};

// An entry of a stream, pending in a group: its id is milliseconds-sequence.
struct StreamEntry {
  std::shared_ptr<const StreamGroup> group;  // never null
  std::uint64_t milliseconds = 0;
  std::uint64_t sequence = 0;
};

// A message as its source receives it: bytes, and where they came from. Moved, not copied, except
// in tests.
struct Arrival {
  Bytes payload{};
  Headers headers{};
  std::string content_type{};
  std::string type{};
  std::string partition{};  // topic-partition, file path, queue name: a unit of order
  std::string position{};   // names this copy within the source: "orders-3-17", file offset
  std::optional<Bytes> broker_key{};  // the record key or producer-set id, where the broker has one
  // Held messages: the key and fingerprint under which it was held; they outrank the key recipe.
  std::optional<Bytes> key{};
  std::optional<Fingerprint> fingerprint{};
  std::optional<RowTag> row{};  // where it is a row of the consumer's own store
  // Where it is an entry of a Redis stream. A store on the same server may acknowledge it in the
  // commit that makes the record (Finish::settles).
  std::optional<StreamEntry> entry{};
  std::optional<std::chrono::system_clock::time_point> broker_time{};  // never the producer's clock
  // The source could not read the whole message: a reason (semel::reason). It becomes a dead letter
  // with this reason, the error below, and what could be read.
  std::optional<std::string> refused{};
  std::string refused_error{};
  int attempts = 0;  // held messages without a record: attempts made before this one
  std::optional<std::chrono::milliseconds> since_first{};  // held messages: since the first attempt
  // Its ordering group: messages of one group run in their order, also where one of them must wait.
  // nullopt: it has none. Set for held messages by the store, for all others by the runner.
  std::optional<Bytes> line{};
  Tag tag{};
  // It was in flight when a process died: a crash attempt is counted before it runs again, and it
  // runs only together with other suspects.
  bool suspect = false;
  // Set by the runner when it receives the arrival.
  std::uint32_t source = 0;  // index in ConsumerInfo::sources (observer.h)
  std::chrono::steady_clock::time_point received{};
};

// One arrival of a message whose key is known. Move-only: exactly one outcome belongs to it.
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
