// Ledger: the entries that this member has in hand, and those that are settled and not yet
// acknowledged. Pure; not thread-safe.
//
// An entry is known by its id, also after a new connection: the group keeps for whom it is pending,
// and an acknowledgement is good from any connection. So nothing is void when one is lost, and an
// entry that is told once more is the one that is in hand.
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
  // It is pending for us, and `renewed` as long as it is in hand. False: it is in hand already, or
  // settled and not acknowledged, and `arrival` is not needed.
  bool arrived(const EntryId& id, std::unique_ptr<Arrival> arrival, bool renewed = true);
  bool knows(const EntryId& id) const { return ours_.contains(id) || acked_.contains(id); }

  // The first one that waits, which is out from here on. Null: none waits. It is good until
  // something else is called.
  struct Taken {
    std::uint64_t number = 0;
    EntryId id;
    const Arrival* arrival = nullptr;
  };
  Taken take();
  bool has_waiting() const noexcept { return deliveries_.has_waiting(); }

  // False where `number` is not out: settled before, or never received.
  bool settle(std::uint64_t number, Settlement::Kind kind);

  // Up to `most` of those that are settled and not acknowledged; the server has heard of them once
  // acknowledged() says so.
  std::vector<EntryId> acks(std::size_t most) const;
  void acknowledged(const std::vector<EntryId>& ids);
  std::size_t waiting_acks() const noexcept { return acked_.size(); }

  // Ids of entries in hand that are to be renewed, and are pending for us as far as is known.
  std::vector<EntryId> ours() const;
  std::size_t ours_behind(const EntryId& id) const;
  // Marks entries in hand behind the first id and up to the last as no longer pending for us, but
  // for `there`. Returns how many were pending until now.
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
  std::map<EntryId, bool> ours_;  // in hand; false: not to be renewed
  std::set<EntryId> acked_;
};

}  // namespace semel::redis_streams
