// Names of the values that a store keeps on its server.
//
//   semel:{2q}…             a record: its slot, then the bytes of the key's id, which begin with
//                           the consumer's number
//   semel:{store}consumers  a hash: each consumer's name, and its number and key recipe
//   semel:{store}numbers    a hash: whose each number is
//   semel:{store}ttls       a hash: how many ms the records of each number are kept once they are
//                           completed or dead; empty: for ever
//   semel:{store}gates      a hash: which consumers begin nothing for now
//   semel:{store}audit…     hashes: what people did through the admin API, how it ended (_ends),
//                           and the id of each request (_requests)
//   semel:{store}positions  a hash: how far each file was read for each consumer
//   semel:{store}reader:…   which process reads a file for a consumer; it expires
//   semel:{store}token      the last token, and the life of the server that it was given in; on a
//                           Cluster semel:{2q}token for the records of each slot
//   semel:{h5.3}…           a lane (kLanes in all) of the held rows of consumer 5: hashes of heads
//                           (m), bodies (b) and the bytes in each line (s), sorted sets of what is
//                           met (d) and new, unlocked or replayed (n) by when it is due, the parked
//                           (p, in no line), a sorted set for each line (l and its name) by
//                           place, and for records whose ids belong here the lane and number of
//                           their row (o); on a Cluster semel:{h5}3.…, so that all of a consumer's
//                           are changed in one step
//   semel:{h5}last          the number of its last row
//   semel:{store}letter…    dead letters: see letter.h
//   semel:{store}run…       who runs: see lua.h
//   semel:{store}confirmed  what Router writes before it asks replicas; on a Cluster one in each
//                           slot: see src/clients/redis/confirm.h
//   semel:{2q}crash:…       how often a key was in hand at a death, behind it the id
//
// An id is stored as bytes, not as text: with the usual prefix a name then fits into a smaller
// block of the server's memory than with base64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/bytes.h>
#include <semel/key.h>

namespace semel::redis {

// The number of slots that hold the records of a store. On a Cluster a script runs once for each
// slot that a batch touches: more would cost more, fewer would load many nodes unevenly. It must
// never change: records would not be found again.
inline constexpr unsigned kSlots = 32;

// The text between the braces for each: two characters. On a Cluster the tags' slots are evenly
// spaced, so that masters with equal ranges get equal shares.
std::string_view tag_of(unsigned slot) noexcept;

class Names {
 public:
  // The prefix contains no brace (open_redis refuses one).
  explicit Names(std::string all_begin_with, bool on_cluster = false);

  std::string record(const KeyId& id) const;
  void append_record(Bytes& to, const KeyId& id) const;
  // The slot of a Cluster that it is in.
  static std::uint16_t cluster_slot_of(const KeyId& id) noexcept;
  // The record that has this name; nullopt where it is no record's.
  std::optional<KeyId> id_of(std::string_view name) const;
  // The name of a value that exists once for the whole store.
  std::string of_store(const std::string& what) const;
  std::string crash(const KeyId& id) const;
  // For values of a consumer's held rows.
  std::string last_row(ConsumerNumber consumer) const;
  // The beginning of all names of a lane.
  std::string lane(ConsumerNumber consumer, unsigned lane) const;
  // The last token of the records in the same slot.
  std::string token_of(const KeyId& id) const;
  // All of those.
  std::vector<std::string> tokens() const;

  const std::string consumers;
  const std::string numbers;
  const std::string ttls;
  const std::string letters;
  const std::string runs;
  const std::string prefix;
  const bool cluster;

 private:
  void append_in_slot(Bytes& to, const KeyId& id, std::string_view what) const;
};

}  // namespace semel::redis
