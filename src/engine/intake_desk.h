// IntakeDesk: from a source's arrivals to deliveries; what cannot become one goes to the dead
// letters, or is discarded where the config says so of empty payloads.
#pragma once

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
#include "engine/source_desk.h"
#include "system/mutex.h"

namespace semel::engine {

// Used by the receiving thread only.
class IntakeDesk {
 public:
  struct Options {
    std::string consumer;
    ConsumerNumber number{};
    core::KeyRecipe recipe;
    core::Limits limits;
    core::EmptyPayload empty = core::EmptyPayload::kHandle;
    std::optional<core::Order> order;
    // In whose queue each dead letter leaves a copy; nobody's.
    std::optional<ConsumerNumber> copies_to{};
    core::StartTrace start_trace{};
  };

  IntakeDesk(Options options, Store& store, Observer& observer);

  // After an unclean end: of each partition of a source that replays, the first `window` arrivals
  // whose effect has not happened may have been in flight then.
  void suspect_first(std::size_t window) noexcept { window_ = window; }
  // A suspect of this partition turned out to have happened: the position that was kept lagged
  // behind, and the window reaches further. From any thread.
  void suspect_one_more(const std::string& partition) SEMEL_EXCLUDES(mutex_);
  // The window of some partition has not been gone through, or none has brought anything yet, or
  // one of `unread` has not.
  bool suspecting(std::span<const std::string> unread) SEMEL_EXCLUDES(mutex_);

  // Makes deliveries of arrivals, in order. What is refused waits for keep_refused.
  std::vector<core::TrackedDelivery> take_in(SourceDesk::Batch batch);

  // For a dry run: they are told and forgotten. How many there were.
  std::size_t tell_refused();

  // Why the consumer must stop: a message without a key under `missing: fail`.
  const std::optional<std::string>& fatal() const noexcept { return fatal_; }

  struct Kept {
    std::uint32_t source;
    Tag tag;
    bool in_store;  // it was a row of the store, and went with the dead letter
    Outcome outcome;
  };
  std::size_t refused() const noexcept { return refused_.size(); }
  // Writes the refused ones as dead letters, but for those that are discarded; on an error they
  // stay and the call is made again later.
  Result<std::vector<Kept>> keep_refused();
  // Gives them back: neither kept nor settled.
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
  void refuse(Arrival arrival, core::Refusal why, bool discarded = false);
  // Borrows it.
  Finish finish_of(const Refused& refused) const;
  // False: it is discarded, and the store knows nothing of it.
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
  system::Mutex mutex_;
  std::unordered_map<std::string, std::size_t> suspect_left_ SEMEL_GUARDED_BY(mutex_);
  std::vector<Refused> refused_;
  std::optional<std::string> fatal_;
};

}  // namespace semel::engine
