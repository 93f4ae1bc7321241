// SourceDesk: the engine's sources as one, and every settlement on its way to them.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/spi/source.h>

#include "core/leaving_partitions.h"
#include "core/retention.h"
#include "core/tracked_delivery.h"
#include "engine/engine.h"
#include "engine/flight.h"
#include "engine/store_watch.h"
#include "system/mutex.h"

namespace semel::engine {

// A delivery of one of an engine's sources, each of which has tags of its own.
struct SourceTag {
  std::uint32_t source = 0;
  Tag tag{};
  auto operator<=>(const SourceTag&) const = default;
};

// receive, wait and close belong to the receiving thread; the rest may come from any.
class SourceDesk {
 public:
  struct Options {
    std::string consumer;
    std::chrono::milliseconds hidden{0};  // how long a store's row stays hidden unless extended
    bool dry_run = false;
    core::Retention retention;
  };

  SourceDesk(Options options, std::vector<std::unique_ptr<Source>> sources,
             Environment& environment, Observer& observer, StoreWatch& store);

  struct Batch {
    std::vector<Arrival> arrivals;
    const SourceTraits* traits = nullptr;
    Flight::Question question{};     // that the arrivals answer
    std::uint64_t first_number = 0;  // of its first arrival; the others follow it
  };
  // What the sources have now, within `room`. An Error is final; a source that is away is told of
  // and asked again later. `sure`: as ReceiveLimits.
  // `question` is what the arrivals are an answer to; `outside`: of sources that are not in the
  // store, at most so many.
  Result<std::vector<Batch>> receive(Flight::Room room, std::size_t most, bool sure,
                                     Flight::Question question, std::size_t outside);

  // Whether one that is not in the store has brought the first arrivals of a new generation since
  // the last call: it was given partitions that another process may have read until then.
  bool take_assigned() noexcept { return std::exchange(assigned_, false); }

  // What of their deliveries goes to other processes, each once.
  std::vector<Flight::Generation> take_leaving();

  bool at_end() const noexcept;  // all of them, at the last receive
  // The same without those whose messages stay in the store, and so come to no end in a dry run.
  bool looked_through() const noexcept;
  // Since when one of them has been away.
  std::optional<TimePoint> away_since() const noexcept { return away_since_; }

  // A partition brings nothing until it is resumed. The receiving thread's.
  void set_paused(std::uint32_t source, const std::string& partition, bool paused) {
    desks_[source]->source->set_paused(partition, paused);
  }

  enum class Listen { kAll, kInStore, kNone };  // to which sources
  // Waits for a source, `event_fd`, or `until`.
  void wait(int event_fd, Listen listen, std::optional<TimePoint> until);

  // A drain begins: senders that would wait in vain are told. From any thread.
  void end_intake() noexcept {
    for (const auto& desk : desks_) desk->source->end_intake();
  }

  // How a delivery ended that is settled next, for a source that answers its sender.
  void ended(std::uint32_t source, const Tag& tag, const Outcome& outcome) {
    Source& to = *desks_[source]->source;
    if (to.traits().answers) to.ended(tag, outcome);
  }
  // Tells the sources; what cannot be told now is told again at the next call.
  void settle(const std::vector<Landing>& landings);
  // Tells them of what was not handled.
  void give_back(const std::vector<core::TrackedDelivery>& rest);
  void settle_open();
  // Tells the sources in the store what is still to be told; an error where one could not take it.
  Result<void> settle_rows();
  // Keeps in-flight rows hidden, but for these.
  void extend(const std::set<SourceTag>& but = {});
  void close(std::chrono::milliseconds deadline);
  // Closes those that are not in the store, so that others may have their messages. What is settled
  // there afterwards is void. Not beside receive and wait.
  void close_outside(std::chrono::milliseconds deadline);
  // Partitions of those that are not in the store, as Source::unread.
  std::vector<std::string> unread_outside();
  // Some source that is not in the store brings again what was not settled.
  bool replays_from_outside() const noexcept;

  // From any thread.
  std::vector<Engine::Figures> figures();

  const SourceTraits& traits(std::uint32_t source) const {
    return desks_[source]->source->traits();
  }

 private:
  struct Desk {
    std::unique_ptr<Source> source;
    core::LeavingPartitions* leaving = nullptr;  // of the source, where it gives partitions away
    bool at_end = false;
    std::set<std::string> away_for;  // codes of why, each told once
    bool away() const noexcept { return !away_for.empty(); }
    std::uint64_t generation = 0;  // the newest of its arrivals' tags
    TimePoint again{};
    system::Mutex mutex;
    std::vector<Settlement> open SEMEL_GUARDED_BY(mutex);  // to be told
    // tags to keep hidden; only where redelivers
    std::set<Tag> in_flight SEMEL_GUARDED_BY(mutex);
    TimePoint extended SEMEL_GUARDED_BY(mutex){};
    bool closed SEMEL_GUARDED_BY(mutex) = false;
  };
  Result<void> receive_from(Desk& desk, std::uint32_t index, Flight::Room& room, std::size_t most,
                            bool sure, std::vector<Batch>& into);
  Result<void> judge(const Horizon& horizon);
  void note_away(Desk& desk, const Error& error, TimePoint now);
  void note_back(Desk& desk);
  Result<void> tell(Desk& desk) SEMEL_REQUIRES(desk.mutex);
  void close_one(Desk& desk, std::chrono::milliseconds deadline);
  bool told_all(Desk& desk);

  const Options options_;
  std::vector<std::unique_ptr<Desk>> desks_;
  Environment& environment_;
  Observer& observer_;
  StoreWatch& store_;
  std::optional<TimePoint> away_since_;
  std::uint64_t arrivals_ = 0;
  bool assigned_ = false;
};

}  // namespace semel::engine
