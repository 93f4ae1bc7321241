// Positions and RunMarkers: a store's memory of the processes that run consumers on it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/message.h>
#include <semel/result.h>

namespace semel {

// How far a source without acks of its own (a file) has been settled. After a crash a position may
// lag behind: messages that are delivered again meet their records.
class Positions {
 public:
  // Held for as long as the object lives; freed by the kernel when the process dies.
  class Reservation {
   public:
    virtual ~Reservation() = default;
    // True once another process has it: the reader must stop. Thread-safe.
    virtual bool lost() const noexcept { return false; }
  };

  virtual ~Positions() = default;
  virtual Result<std::optional<Bytes>> load(ConsumerNumber consumer,
                                            std::string_view partition) = 0;
  virtual Result<void> save(ConsumerNumber consumer, std::string_view partition,
                            BytesView position) = 0;
  // kBlocked (R230) while another process, or another reservation of this one, holds it.
  virtual Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                                       std::string_view partition) = 0;
};

struct CrashChange {
  KeyId key;
  int from = 0;
  int highest = 0;
  int to = 0;
};

// Marks the processes that run, and finds what a dead one left behind (docs/contract.md, rule 6).
class RunMarkers {
 public:
  struct Begun {
    bool unclean = false;    // a process that ran this consumer died without a clean drain
    std::size_t window = 0;  // the largest in-flight window among those
  };

  virtual ~RunMarkers() = default;

  // Marks this process as running `consumer`, with at most `window` messages in flight per
  // partition. Frees what dead processes held: their leases end, their hidden rows show again,
  // marked suspect. A call that is repeated because its answer was lost tells of the same deaths;
  // so does the next process, where this one dies or leaves its mark: it may not have handled all.
  virtual Result<Begun> begin(ConsumerNumber consumer, std::size_t window) = 0;
  // A clean drain: nothing is left in flight. Not after a begin() without an answer: what that has
  // heard would be forgotten.
  virtual Result<void> end(ConsumerNumber consumer) = 0;
  // Frees what processes that died meanwhile held; true when there was any. Cheap; call about once
  // a second.
  virtual Result<bool> sweep() = 0;

  // The number kept for each key, in their order; zero where there is none. Negative: how often it
  // was in flight together with others when a process died; positive: how often alone. nullopt: the
  // key is completed already, and a claim will return that.
  virtual Result<std::vector<std::optional<int>>> crashes(std::span<const KeyId> keys) = 0;
  // Counts before suspect messages are handled, and takes the count back afterwards. The number of
  // each key becomes `to` if it is at least `from` and at most `highest`, durable against the
  // process's death; zero is not stored. The keys differ. Returns the resulting numbers: a call
  // that is repeated because its answer was lost changes nothing more. Where it fails, some may
  // have changed.
  virtual Result<std::vector<int>> change_crashes(std::span<const CrashChange> changes) = 0;
};

}  // namespace semel
