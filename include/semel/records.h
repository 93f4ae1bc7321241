// RecordInspector and DeadLetters: what an operator may see and do.
//
// Nothing here can lose a message or run one twice: replay and unlock are compare-and-set into
// `retrying`, due now, and what is completed meanwhile is skipped and counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <semel/message.h>
#include <semel/result.h>

namespace semel {

enum class RecordState { kConsuming, kCompleted, kRetrying, kParked, kDead };
const char* to_string(RecordState state) noexcept;

// Milliseconds since the epoch by the store's clock.
using StoreTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

struct RecordView {
  ConsumerNumber consumer{};
  Bytes key;  // empty where the store keeps only the digest of a completed key
  KeyId id;
  RecordState state = RecordState::kCompleted;
  Fingerprint fingerprint;
  int attempt = 0;
  std::uint64_t token = 0;
  std::string reason;
  std::string error;
  bool outcome_unknown = false;
  std::optional<StoreTime> first_seen;
  std::optional<StoreTime> lease_until;   // consuming
  std::optional<StoreTime> next_at;       // retrying
  std::optional<StoreTime> completed_at;  // completed
  Bytes result;
};

struct StoreStats {
  struct Consumer {
    std::string name;
    ConsumerNumber number{};
    std::size_t consuming = 0, retrying = 0, parked = 0, dead = 0, held = 0, dead_letters = 0;
  };
  struct Generation {
    std::int64_t number = 0;
    bool active = false;
    std::optional<std::chrono::milliseconds> ttl;
    std::size_t records = 0;
    StoreTime created_at;
  };
  int schema_version = 0;
  std::uint64_t epoch = 0;
  std::size_t bytes = 0;
  std::vector<Consumer> consumers;
  std::vector<Generation> generations;
  std::vector<std::int64_t> running_pids;  // processes that run consumers on this store now
};

class RecordInspector {
 public:
  virtual ~RecordInspector() = default;

  virtual Result<std::optional<ConsumerNumber>> consumer(const std::string& name) = 0;
  // Unfinished records, oldest key first; with `state` only those. Completed ones are found by key.
  virtual Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                               std::optional<RecordState> state,
                                               std::size_t limit) = 0;
  virtual Result<std::optional<RecordView>> show(const KeyId& id) = 0;
  // Removes the record and what is held for it; true where there was one. Refused (kBlocked) while
  // a live lease holds it. The next delivery of the key is handled as new: the operator says so.
  virtual Result<bool> forget(const KeyId& id) = 0;
  // parked or dead → retrying, due now. False where the record is in no such state.
  virtual Result<bool> unlock(const KeyId& id) = 0;
  virtual Result<StoreStats> stats() = 0;
};

struct DeadLetter {
  std::int64_t id = 0;
  std::string consumer;
  Bytes key;  // empty where there was none
  Fingerprint fingerprint;
  std::string reason;
  std::string error;
  int attempts = 0;
  std::string partition;
  std::string position;
  Bytes payload;
  Headers headers;
  std::string content_type;
  std::string type;
  StoreTime first_seen;
  StoreTime dead_at;
  int replayed = 0;  // times
};

struct DeadLetterFilter {
  std::optional<std::string> consumer;
  std::optional<std::string> reason;
  std::int64_t after = 0;  // ids above this one
  std::size_t limit = 100;
  bool payloads = false;  // fill payload and headers
};

struct ReplayReport {
  std::size_t replayed = 0;           // held again, due now
  std::size_t skipped_completed = 0;  // the key is completed meanwhile under the same fingerprint
  std::size_t skipped_conflict = 0;   // the key belongs to another payload: discard or edit it
  std::size_t missing = 0;            // no such id
};

class DeadLetters {
 public:
  virtual ~DeadLetters() = default;
  virtual Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) = 0;
  virtual Result<std::optional<DeadLetter>> show(std::int64_t id) = 0;
  virtual Result<ReplayReport> replay(std::span<const std::int64_t> ids) = 0;
  // Removes dead letters; the records stay closed. Returns how many there were.
  virtual Result<std::size_t> discard(std::span<const std::int64_t> ids) = 0;
};

}  // namespace semel
