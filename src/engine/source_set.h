// SourceSet: the engine's sources as one, with every settlement that is to be sent to them.
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
#include "core/stands_aside.h"
#include "core/tracked_delivery.h"
#include "engine/engine.h"
#include "engine/in_flight_deliveries.h"
#include "engine/store_watch.h"
#include "strategies/age_gate.h"
#include "system/mutex.h"

namespace semel::engine {

// Identifies a delivery among all sources of an engine; tags are unique within one source only.
struct SourceTag {
  std::uint32_t source = 0;
  Tag tag{};
  auto operator<=>(const SourceTag&) const = default;
};

// Whether what was in flight in a crash may come again from outside of the store without a mark.
bool comes_unmarked(const SourceTraits& traits) noexcept;

// receive, wait and close belong to the receiving thread; the rest is thread-safe.
class SourceSet {
 public:
  struct Options {
    std::string consumer;
    std::chrono::milliseconds hidden{0};  // how long a store's row stays hidden unless extended
    bool dry_run = false;
    core::Retention retention;
    std::shared_ptr<strategies::AgeGate> age_gate{};  // is told the horizons; null: none
  };

  SourceSet(Options options, std::vector<std::unique_ptr<Source>> sources, Environment& environment,
            Observer& observer, StoreWatch& store);

  struct Batch {
    std::vector<Arrival> arrivals;
    const SourceTraits* traits = nullptr;
    InFlightDeliveries::Question question{};  // the question that the arrivals answer
    std::uint64_t first_number = 0;           // of its first arrival; the others count on from it
  };
  // Returns what the sources have now, within `capacity`. An Error is final; a source that is
  // unavailable is reported and asked again later. `sure`: as ReceiveLimits. `question`: the
  // question that the arrivals answer. `outside`: the most messages from sources that are not in
  // the store.
  Result<std::vector<Batch>> receive(InFlightDeliveries::Capacity capacity, std::size_t most,
                                     bool sure, InFlightDeliveries::Question question,
                                     std::size_t outside);

  // Whether one that is not in the store has brought the first arrivals of a new generation since
  // the last call: it was given partitions that another process may have read until then.
  bool take_assigned() noexcept { return std::exchange(assigned_, false); }

  // The assignments that go to other processes, each once.
  std::vector<InFlightDeliveries::Generation> take_leaving();

  bool at_end() const noexcept;  // all of them, at the last receive
  // The same without sources in the store: in a dry run their messages stay there, and so have no
  // end.
  bool looked_through() const noexcept;
  // Since when one of them has been unavailable.
  std::optional<TimePoint> away_since() const noexcept { return away_since_; }

  // A paused partition returns nothing until it is resumed. Receiving thread only.
  void set_paused(std::uint32_t source, const std::string& partition, bool paused) {
    sources_[source]->source->set_paused(partition, paused);
  }

  enum class Listen { kAll, kInStore, kNone };  // which sources to wait for
  // Waits for a source, `event_fd`, or `until`.
  void wait(int event_fd, Listen listen, std::optional<TimePoint> until);

  // A drain begins: waiting senders are refused. Thread-safe.
  void end_intake() noexcept {
    for (const auto& entry : sources_) entry->source->end_intake();
  }

  // Gives the outcome of a delivery that is settled next to a source that answers its sender.
  void ended(std::uint32_t source, const Tag& tag, const Outcome& outcome) {
    Source& to = *sources_[source]->source;
    if (to.traits().answers) to.ended(tag, outcome);
  }
  // Sends settlements to the sources; those that fail are sent again by the next call.
  void settle(const std::vector<PendingSettlement>& pending_settlements);
  // Releases deliveries that were not handled.
  void give_back(const std::vector<core::TrackedDelivery>& rest);
  void settle_open();
  // Sends the open settlements to the sources in the store; an error where one could not be sent.
  Result<void> settle_rows();
  // Keeps the rows that are in flight hidden, except `but`.
  void extend(const std::set<SourceTag>& but = {});
  // As StandsAside, for the sources that can.
  void stand_aside(bool aside) noexcept;
  void close(std::chrono::milliseconds deadline);
  // Closes the sources that are not in the store, so that other processes may have their messages.
  // Settlements sent to them afterwards are void. Not concurrently with receive and wait.
  void close_outside(std::chrono::milliseconds deadline);
  // The unread partitions of the sources that replay in their order, as Source::unread; nullopt
  // where one of them does not tell.
  std::optional<std::vector<std::string>> unread_in_order();
  // Whether messages that were in flight in a crash may come again from outside of the store
  // without a mark.
  bool replays_unmarked() const noexcept;
  // Whether it is a suspect whose source does not mark what it delivers again.
  bool is_unmarked_suspect(const Arrival& arrival) const noexcept {
    return arrival.suspect && !sources_[arrival.source]->source->traits().marks_again;
  }

  // Thread-safe.
  std::vector<Engine::Figures> figures();

  const SourceTraits& traits(std::uint32_t source) const {
    return sources_[source]->source->traits();
  }

 private:
  struct Entry {
    std::unique_ptr<Source> source;
    core::LeavingPartitions* leaving = nullptr;  // of the source, where it gives partitions away
    core::StandsAside* stands_aside = nullptr;  // of the source, where others may have its messages
    bool at_end = false;
    std::set<std::string> away_for;  // error codes, each reported once
    bool away() const noexcept { return !away_for.empty(); }
    std::uint64_t generation = 0;  // the newest of its arrivals' tags
    TimePoint again{};
    system::Mutex mutex;
    std::vector<Settlement> open SEMEL_GUARDED_BY(mutex);  // not sent yet
    // tags to keep hidden; only where redelivers
    std::set<Tag> in_flight SEMEL_GUARDED_BY(mutex);
    TimePoint extended SEMEL_GUARDED_BY(mutex){};
    bool closed SEMEL_GUARDED_BY(mutex) = false;
  };
  Result<void> receive_from(Entry& entry, std::uint32_t index,
                            InFlightDeliveries::Capacity& capacity, std::size_t most, bool sure,
                            std::vector<Batch>& into);
  Result<void> judge(const Horizon& horizon);
  void note_away(Entry& entry, const Error& error, TimePoint now);
  void note_back(Entry& entry);
  Result<void> tell(Entry& entry) SEMEL_REQUIRES(entry.mutex);
  void close_one(Entry& entry, std::chrono::milliseconds deadline);
  bool told_all(Entry& entry);

  const Options options_;
  std::vector<std::unique_ptr<Entry>> sources_;
  Environment& environment_;
  Observer& observer_;
  StoreWatch& store_;
  std::optional<TimePoint> away_since_;
  std::uint64_t arrivals_ = 0;
  bool assigned_ = false;
};

}  // namespace semel::engine
