// Ledger: the entries that this member has taken, and those that are settled and not yet
// acknowledged. Pure; not thread-safe.
//
// An entry is identified by its id, on a new connection too: the group stores for whom it is
// pending, and an acknowledgement is valid on any connection. So a lost connection voids nothing,
// and an entry that is returned again is the one that is here already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <semel/spi/delivery.h>
#include <semel/spi/source.h>

#include "core/delivery_ledger.h"
#include "sources/redis_streams/entry.h"

namespace semel::redis_streams {

class Ledger {
 public:
  // Adds an entry pending for us; with `renewed` it is renewed while it is here. False: it is here
  // already, or settled and not acknowledged, and `arrival` is not used.
  bool arrived(const EntryId& id, std::unique_ptr<Arrival> arrival, bool renewed = true);
  bool knows(const EntryId& id) const { return ours_.contains(id) || acked_.contains(id); }

  // Takes the first entry that waits; it is out from then on. Null: none waits. Valid until the
  // next call.
  struct Taken {
    std::uint64_t number = 0;
    EntryId id;
    const Arrival* arrival = nullptr;
  };
  Taken take();
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }

  // False where `number` is not out: settled before, or never received.
  bool settle(std::uint64_t number, Settlement::Kind kind);

  // Up to `most` of those that are settled and not acknowledged; the caller reports success with
  // acknowledged().
  std::vector<EntryId> acks(std::size_t most) const;
  void acknowledged(const std::vector<EntryId>& ids);
  std::size_t waiting_acks() const noexcept { return acked_.size(); }

  // The ids of entries here that must be renewed, and are pending for us as far as known.
  std::vector<EntryId> ours() const;
  std::size_t ours_behind(const EntryId& id) const;
  // Marks entries here after the first id and up to the last as no longer pending for us, except
  // `there`. Returns how many were pending until now.
  std::size_t only_ours(const EntryId& behind, const EntryId& last,
                        const std::vector<EntryId>& there);

  // Not settled.
  std::size_t open() const noexcept { return deliveries_.open(); }
  // Delivered and not acknowledged.
  std::size_t pending() const noexcept { return open() + acked_.size(); }

 private:
  struct InHand {
    EntryId id;
    std::unique_ptr<Arrival> arrival;
  };

  core::DeliveryLedger<InHand> deliveries_;
  std::map<EntryId, bool> ours_;  // entries here; false: not renewed
  std::set<EntryId> acked_;
};

}  // namespace semel::redis_streams
