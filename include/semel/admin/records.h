// RecordInspector and DeadLetters: what an operator may see and do. Thread-safe.
//
// Only forget, and a finish under seize, can lose a message or run one twice: replay and unlock are
// compare-and-set into `retrying`, due now, and a key that was completed meanwhile is skipped and
// counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <semel/message.h>
#include <semel/result.h>
#include <semel/spi/lease.h>

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
  // When this was read, by the store's clock: shows whether a lease is over. nullopt: the store
  // does not report it.
  std::optional<StoreTime> read_at;
};

struct StoreStats {
  struct Consumer {
    std::string name;
    ConsumerNumber number{};
    std::size_t consuming = 0, retrying = 0, parked = 0, dead = 0, held = 0, dead_letters = 0;
    // The consuming ones whose lease is over by the store's clock, and for which nobody recorded
    // how their work ended.
    std::size_t stuck = 0;
    std::vector<std::int64_t> running_pids;  // processes that run it now
    // When the oldest record or message that is consuming, retrying or held was first met. SQL
    // databases look at all records, but only at the message with the lowest number: one that was
    // held again has a higher number than before, and where it has no record it may be older.
    std::optional<StoreTime> oldest_waiting;
    // When a message, a record or a dead letter of it was last added or changed; nullopt: never, or
    // there are more records than one read allows. SQL databases look only at the message and the
    // letter with the highest number.
    std::optional<StoreTime> last_change;
    // When the oldest of its dead letters died: in SQL databases the one with the lowest id, which
    // a letter keeps when it dies again; nullopt: there is none, or the store would have to read
    // them all (Redis).
    std::optional<StoreTime> oldest_dead_letter;
  };
  struct Generation {
    std::int64_t number = 0;
    bool active = false;
    std::optional<std::chrono::milliseconds> ttl;
    std::size_t records = 0;
    StoreTime created_at;
    bool rolling = false;  // its records go one by one, each when its own time is over
  };
  int schema_version = 0;
  std::uint64_t epoch = 0;
  std::size_t bytes = 0;
  std::size_t record_bytes = 0;  // of a completed one, on average; 0: unknown
  std::vector<Consumer> consumers;
  std::vector<Generation> generations;
  std::vector<std::int64_t> running_pids;  // processes that run consumers on this store now
  bool records_counted = true;             // false: Consumer's counts of records are unknown
};

// A finding of RecordInspector::verify.
struct StoreFinding {
  bool wrong = true;   // false: worth knowing, and harmless
  std::string what;    // one word for scripts, as "record.held_missing"
  std::string where;   // the table, record or file it is about
  std::string detail;  // in the user's words, with the numbers that were compared
};

class RecordInspector {
 public:
  virtual ~RecordInspector() = default;

  // The store's clock: the one that decides what has expired.
  virtual Result<StoreTime> read_clock() = 0;
  virtual Result<std::optional<ConsumerNumber>> consumer(const std::string& name) = 0;
  // Unfinished records, oldest key first; with `state` only those. Completed ones are found by key.
  virtual Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                               std::optional<RecordState> state,
                                               std::size_t limit) = 0;
  virtual Result<std::optional<RecordView>> show(const KeyId& id) = 0;
  // A message that is held for a record that is gone, as a record that is parked or retrying, under
  // token zero; nullopt where there is none. Only on a Redis Cluster: a forget was stopped between
  // two of its nodes, or a failover lost the record. forget_as removes the message, and unlock_as
  // brings back a parked one. Errors as of show.
  virtual Result<std::optional<RecordView>> left_behind(const KeyId& id) {
    (void)id;
    return std::nullopt;
  }
  // Removes the record and what is held for it; true where there was one. Refused (kBlocked) while
  // a live lease holds it. The next delivery of the key is handled as new. Where there may be a
  // dedup cache in front of the records, call reseal_fronts (front.h) after it.
  virtual Result<bool> forget(const KeyId& id) = 0;
  // The same, but only while the record is still in `state` under `token` (zero: completed); false
  // where it has moved on. So nothing is removed that the operator did not see.
  virtual Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) = 0;
  // parked or dead → retrying, due now. False where the record is in no such state.
  virtual Result<bool> unlock(const KeyId& id) = 0;
  // The same, where the record is still in `state` under `token`; false where it moved on. An
  // operator who saw a failure unlocks no outcome that became unknown since.
  virtual Result<bool> unlock_as(const KeyId& id, RecordState state, std::uint64_t token) = 0;
  // parked, or consuming with its lease over → consuming, held for `lease` by the caller: a person
  // knows how it ended, and records that by Store::finish under this lease. nullopt where the
  // record is in neither state. Without a finish in time the record is as after a crash.
  virtual Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) = 0;
  // The same, where the record is still in `state` under `token`; nullopt where it moved on.
  virtual Result<std::optional<Lease>> seize_as(const KeyId& id, RecordState state,
                                                std::uint64_t token,
                                                std::chrono::milliseconds lease) = 0;
  // Looks for contradictions in what is stored; empty where there are none. Only reads, also while
  // consumers run. `full`: every page and every pair of tables, which takes as long as reading the
  // store.
  virtual Result<std::vector<StoreFinding>> verify(bool full) = 0;
  virtual Result<StoreStats> stats() = 0;
  // The part of stats() whose cost grows with unfinished records, not with finished ones: no
  // generations. Where a store finds records only by reading all names (Redis), no records by state
  // either, nor bytes.
  virtual Result<StoreStats> backlog() = 0;
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
  std::optional<std::string> consumer{};
  std::optional<std::string> reason{};
  std::int64_t after = 0;  // ids above this one
  std::size_t limit = 100;
  bool payloads = false;  // fill payload and headers
};

struct ReplayReport {
  std::size_t replayed = 0;           // held again, due now
  std::size_t skipped_completed = 0;  // the key is completed meanwhile under the same fingerprint
  std::size_t skipped_conflict = 0;   // the key belongs to another payload: discard or edit it
  std::size_t missing = 0;            // no such id

  enum class Result { kReplayed, kSkippedCompleted, kSkippedConflict, kMissing };
  // Each id once, in any order, with what the counts say of it.
  std::vector<std::pair<std::int64_t, Result>> letters;

  // Adds one letter to `letters` and to its count. May throw std::bad_alloc.
  void note(std::int64_t id, Result result);
};

// Another payload and other headers for a dead letter, which the caller saw with those before.
struct LetterEdit {
  std::int64_t id = 0;
  Fingerprint before;
  Bytes payload_before;
  Headers headers_before;
  Bytes payload;
  Headers headers;
  // The new message's, by the consumer's recipe; `before` for a letter without a key.
  Fingerprint fingerprint;
};

enum class Edited {
  kYes,
  kMissing,         // no such id
  kMoved,           // the letter is not what it was
  kTwin,            // another letter has this key and fingerprint already
  kCompleted,       // the key is completed: another payload under it could never be replayed
  kBusy,            // the record is being tried, waits for its retry, or is parked
  kConflict,        // the record speaks for another payload than this letter's
  kUnknownOutcome,  // the old payload may have had its effect
};

// A dead letter from elsewhere; its id there means nothing here.
struct ForeignLetter {
  DeadLetter letter;              // with payload and headers
  std::optional<KeyId> record{};  // by the consumer's recipe; none: it had no key
};

struct AddReport {
  std::size_t added = 0;
  std::size_t present = 0;  // there already
};

// How long a consumer's dead letters are kept.
struct LetterLife {
  ConsumerNumber consumer{};
  std::chrono::milliseconds kept_for{0};
};

struct ExpiryReport {
  std::vector<std::size_t> removed;  // of each life
  std::int64_t next = 0;             // to continue with as `after`; 0: all letters have been seen
};

class DeadLetters {
 public:
  virtual ~DeadLetters() = default;
  virtual Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) = 0;
  virtual Result<std::optional<DeadLetter>> show(std::int64_t id) = 0;
  virtual Result<ReplayReport> replay(std::span<const std::int64_t> ids) = 0;
  // Removes dead letters; the records stay closed. Returns how many there were.
  virtual Result<std::size_t> discard(std::span<const std::int64_t> ids) = 0;
  // Replaces payload, headers and fingerprint. A dead record of that letter speaks for the new
  // payload from then on: a replay passes through it under the same key, and a claim with the old
  // payload is a conflict, so that it is never handled. Nothing changes unless the answer is kYes.
  virtual Result<Edited> edit(const LetterEdit& edit) = 0;
  // Whether `record` has a letter with the fingerprint `now` that had `original` when it was first
  // edited. A delivery of `original` is then the one that was edited, and no other message under
  // its key. `key`: the record's. Reads alone.
  virtual Result<bool> replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                                const Fingerprint& original) = 0;
  // Keeps letters under new ids, with all they say. One that is there already, by consumer, key (or
  // position where it has none) and fingerprint, stays as it is. No record is made or changed.
  // kRejected where a letter's consumer is not known here: then none is added.
  virtual Result<AddReport> add(std::span<const ForeignLetter> letters) = 0;
  // Looks at the next `most` letters with ids above `after`, and removes those that died, by the
  // store's clock, longer ago than their consumer keeps them; their records stay closed. A letter
  // stays while its record is consuming, retrying or parked for its payload: a replay is using it.
  // A letter replayed without a record was copied with its payload, and needs no letter.
  virtual Result<ExpiryReport> expire(std::span<const LetterLife> lives, std::int64_t after,
                                      std::size_t most) = 0;
};

}  // namespace semel
