// Receiver: turns a source's arrivals into deliveries. Arrivals that cannot become one go to the
// dead letters, or are discarded where the config asks for that (empty payloads).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <semel/observer.h>
#include <semel/outcome.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>

#include "core/intake.h"
#include "core/route.h"
#include "engine/source_set.h"
#include "system/mutex.h"

namespace semel::engine {

// Used by the receiving thread only.
class Receiver {
 public:
  struct Options {
    std::string consumer;
    ConsumerNumber number{};
    core::KeyRecipe recipe;
    core::Limits limits;
    core::EmptyPayload empty = core::EmptyPayload::kHandle;
    std::optional<core::Order> order;
    // Each dead letter leaves a copy in this consumer's queue; nullopt: in none.
    std::optional<core::Route> copies_to{};
    core::StartTrace start_trace{};
  };

  Receiver(Options options, Store& store, Observer& observer);

  // After an unclean end, for each partition of a source that replays and does not mark what it
  // delivers again: the first `window` arrivals whose effect has not happened may have been in
  // flight then. A sender that waits for an answer asks again when it will: at most as many of
  // those that come before `asked_by`. Before the first take_in.
  void suspect_first(std::size_t window, std::chrono::steady_clock::time_point asked_by) noexcept {
    window_ = window;
    asked_left_ = window;
    asked_by_ = asked_by;
  }
  // A suspect of this partition was completed already: the stored position lagged behind, so the
  // window is longer by one. Thread-safe.
  void suspect_one_more(const std::string& partition) SEMEL_EXCLUDES(mutex_);
  // True while messages of the window may still come. `unread`: the partitions that were not read
  // to their ends; nullopt where a source does not tell: then also while none has brought anything.
  bool suspecting(const std::optional<std::vector<std::string>>& unread) SEMEL_EXCLUDES(mutex_);

  // Makes deliveries of arrivals, in order. Refused ones wait for keep_refused.
  std::vector<core::TrackedDelivery> take_in(SourceSet::Batch batch);

  // For a dry run: reports the refused ones and forgets them. Returns how many there were.
  std::size_t tell_refused();

  // Why the consumer must stop: a message without a key under `missing: fail`.
  const std::optional<std::string>& fatal() const noexcept { return fatal_; }

  struct Kept {
    std::uint32_t source;
    Tag tag;
    bool in_store;  // it was a row of the store, and was removed with the dead letter
    Outcome outcome;
  };
  std::size_t refused() const noexcept { return refused_.size(); }
  // Writes the refused ones as dead letters, except those that are discarded; after an error they
  // stay, and the call is repeated later.
  Result<std::vector<Kept>> keep_refused();
  // Returns them neither stored nor settled.
  std::vector<Kept> give_back();

 private:
  struct Refused {
    Arrival arrival;
    Message message;
    core::Refusal why;
    bool discarded = false;
  };
  // The refusal of an empty payload, if the config does not want it handled.
  std::optional<core::Refusal> refuses_empty(const Arrival& arrival) const;
  bool is_suspect(const Arrival& arrival, const SourceTraits& traits) SEMEL_EXCLUDES(mutex_);
  void refuse(Arrival arrival, core::Refusal why, bool discarded = false);
  // The Finish borrows `refused`.
  Finish finish_of(const Refused& refused) const;
  // False: it is discarded, and leaves nothing in the store.
  static bool leaves_something(const Refused& refused);
  Result<void> write_refused();
  static void leave_out_payload(Refused& refused, const std::string& why);
  void tell(Refused refused);
  static std::vector<Kept> kept_of(std::span<const Refused> refused);
  std::vector<Kept> tell_all();

  const Options options_;
  Store& store_;
  Observer& observer_;
  core::Intake intake_;
  std::size_t window_ = 0;
  std::size_t asked_left_ = 0;
  std::chrono::steady_clock::time_point asked_by_{};
  system::Mutex mutex_;
  std::unordered_map<std::string, std::size_t> suspect_left_ SEMEL_GUARDED_BY(mutex_);
  std::vector<Refused> refused_;
  std::optional<std::string> fatal_;
};

}  // namespace semel::engine
