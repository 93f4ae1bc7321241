// Ledger: the entries that this member has taken, and those that are settled and not yet
// acknowledged. Pure; not thread-safe.
//
// An entry is identified by its id, on a new connection too: the group stores for whom it is
// pending, and an acknowledgement is valid on any connection. So a lost connection voids nothing,
// and an entry that is returned again is the one that is here already.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "core/delivery_ledger.h"
#include "sources/redis_streams/entry.h"

namespace semel::redis_streams {

class Ledger {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Adds an entry pending for us; with `renewed` it is renewed while it is here. False: it is here
  // already, or settled and not acknowledged, and `arrival` is not used.
  bool arrived(const EntryId& id, std::unique_ptr<Arrival> arrival, bool renewed = true);
  bool knows(const EntryId& id) const {
    return ours_.contains(id) || acked_.contains(id) || gone_.contains(id);
  }

  // Takes the first entry that waits; it is out from then on. Null: none waits. Valid until the
  // next call.
  struct Taken {
    std::uint64_t number = 0;
    EntryId id;
    const Arrival* arrival = nullptr;
  };
  Taken take();
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }
  // Forgets entries that wait: given back to the group, they may be another member's by now.
  void forget_waiting();

  // False where `number` is not out: settled before, or never received.
  bool settle(std::uint64_t number, Settlement::Kind kind);

  // Up to `most` of those that are settled and not acknowledged; the caller reports success with
  // acknowledged().
  std::vector<EntryId> acks(std::size_t most) const;
  void acknowledged(const std::vector<EntryId>& ids);
  std::size_t waiting_acks() const noexcept { return acked_.size(); }

  // Entries that their records' commits have acknowledged count as delivered until then, so that
  // acknowledgements of both kinds make room at one pace. An entry that the server had returned
  // before the commit is not taken for a new one: call it before asking for entries, not after.
  void forget_gone() { gone_.clear(); }
  // The connection leads to another server process from here on, which may lack the last writes of
  // the one before: a failover, or a restart. They may be records in the same Redis, so nothing is
  // acknowledged there for what was committed before. Entries that are pending there come again,
  // and those in hand once they are settled: their records decide.
  void another_server();
  // Settled, and neither acknowledged nor forgotten.
  std::size_t untold() const noexcept { return acked_.size() + gone_.size(); }

  // The ids of entries here that must be renewed, and are pending for us as far as known.
  std::vector<EntryId> ours() const;
  std::size_t ours_behind(const EntryId& id) const;
  // Marks entries here after the first id and up to the last as no longer pending for us, except
  // `there`: they are lost, or acknowledged by commits and not settled before `until`.
  void only_ours(const EntryId& behind, const EntryId& last, const std::vector<EntryId>& there,
                 TimePoint until);
  // Counts marked entries that are still here as lost, if their time is over.
  void lose_missing(TimePoint now);
  // How many were lost since the last call: by lose_missing(), or settled in another way than by a
  // commit.
  std::size_t take_lost() noexcept { return std::exchange(lost_, 0); }

  // Not settled.
  std::size_t open() const noexcept { return deliveries_.open(); }
  // Delivered and not acknowledged, as far as told.
  std::size_t pending() const noexcept { return open() + untold(); }

 private:
  struct InHand {
    EntryId id;
    std::unique_ptr<Arrival> arrival;
  };

  core::DeliveryLedger<InHand> deliveries_;
  enum class Pending {
    kRenewed,
    kNotRenewed,
    kMissing,  // marked by only_ours()
  };
  struct Here {
    Pending pending{};
    TimePoint until{};         // a missing one counts as lost from then on
    std::uint64_t server = 0;  // which one it was handed out under, as servers_ counts them
  };

  void lose(Here& here) noexcept;

  std::map<EntryId, Here> ours_;  // entries here
  std::set<EntryId> acked_;
  std::set<EntryId> gone_;  // acknowledged by commits
  std::size_t lost_ = 0;
  std::uint64_t servers_ = 0;
};

}  // namespace semel::redis_streams
