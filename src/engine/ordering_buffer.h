// OrderingBuffer: places the deliveries that were put aside because their line has stopped.
//
// Rows of the store go back to it. A message from outside is stored behind the rows of its line and
// settled (docs/contract.md, rule 17). If it must not be (`block`, or the line is full), its
// partition is paused until it can run. A deferred consumer stores all messages from outside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/store.h>

#include "core/order.h"
#include "core/route.h"
#include "core/tracked_delivery.h"
#include "engine/in_flight_deliveries.h"
#include "engine/source_set.h"
#include "strategies/front.h"

namespace semel::engine {

// Used by the receiving thread only.
class OrderingBuffer {
 public:
  struct Options {
    std::string consumer;
    ConsumerNumber number{};
    std::optional<core::Order> order;
    bool defers = false;                     // all messages from outside are stored first
    bool inbox = false;                      // and are in its inbox from then on
    std::optional<core::Route> copies_to{};  // each dead letter leaves a copy in its queue
  };
  // Where lines are kept, the store must hold messages. `front` may be null.
  OrderingBuffer(Options options, Store& store, strategies::Front* front,
                 InFlightDeliveries& in_flight, SourceSet& sources, Environment& environment,
                 Observer& observer);

  // Finds out which lines wait in the store. Call it before anything is received.
  Result<void> load();
  // The same before anything runs that has just been received: others may have made messages wait.
  // After an error the store is asked about each line until look_after has found them all out.
  Result<void> load_again(TimePoint now);
  // Brings what is aside to its place. True where something changed. An error is the store's: the
  // rest stays aside.
  Result<bool> look_after(TimePoint now);
  // Whether the store has answered since the last call.
  bool take_heard() noexcept { return std::exchange(heard_, false); }
  // The deliveries that were given away may have been all that was aside: then no partition waits.
  void look_at_pauses();
  // As InFlightDeliveries::ask_for_more; zero where no lines are kept.
  std::optional<InFlightDeliveries::Question> ask_for_more() {
    return keeps_lines_ ? in_flight_.ask_for_more() : InFlightDeliveries::Question{0};
  }
  // When to look again, at the latest.
  std::optional<TimePoint> again_at() const noexcept {
    return again_at_ && load_at_ ? std::min(again_at_, load_at_) : again_at_ ? again_at_ : load_at_;
  }

 private:
  struct Placed;
  struct Sorted;
  // After an error the next time to try is known.
  Result<void> try_load(TimePoint now);
  Result<void> place(std::vector<core::TrackedDelivery> followers, TimePoint now);
  // Ends those that are completed, unless the store must be asked about them.
  std::vector<core::TrackedDelivery> answer(std::vector<core::TrackedDelivery> followers,
                                            TimePoint now);
  Result<Placed> keep(const std::vector<core::TrackedDelivery>& followers);
  Result<Placed> look(const std::vector<core::TrackedDelivery>& followers);
  Result<Placed> keep_all(const std::vector<core::TrackedDelivery>& followers);
  template <class PlaceOne>
  Result<Placed> each_alone(const std::vector<core::TrackedDelivery>& followers, Error met,
                            PlaceOne place_one);
  Result<Outcome> leave_letter(const core::TrackedDelivery& delivery, const Error& refusal);
  static Sorted sort(std::vector<core::TrackedDelivery> followers, const Placed& placed);
  void stay(std::vector<core::TrackedDelivery> followers, std::optional<TimePoint> again_at);

  const Options options_;
  const bool keeps_lines_;
  Store& store_;
  strategies::Front* const front_;
  InFlightDeliveries& in_flight_;
  SourceSet& sources_;
  Environment& environment_;
  Observer& observer_;
  std::optional<TimePoint> again_at_;
  bool heard_ = false;
  std::optional<TimePoint> load_at_;  // the store did not say which lines wait
  std::set<std::pair<std::uint32_t, std::string>> paused_;  // source and partition
};

}  // namespace semel::engine
