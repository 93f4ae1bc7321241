// Sequencer: which deliveries may run now, in which order, and which must wait for others.
//
// Messages wait in one queue for each ordering key, so a slow key delays only itself. A key that
// was handed out is not handed out again until it is released; one batch may have several messages
// of it, in their order. Twins (same key id) are never out together, whatever their ordering keys:
// the later one waits for the first. Pure; not thread-safe: the engine owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <semel/key.h>

#include "core/index_table.h"
#include "core/lane_name.h"
#include "core/tracked_delivery.h"

namespace semel::core {

class Sequencer {
 public:
  void add(TrackedDelivery&& delivery);

  // Up to `max` deliveries whose ordering keys are free, one for each key, oldest first; their keys
  // are then taken. If these are fewer than `max`, `followers` adds deliveries that wait behind
  // them: marked, and in the order of their key. Suspect deliveries go before others, in a batch of
  // their own, and nothing more is handed out until all of them are released.
  std::vector<TrackedDelivery> take(std::size_t max, bool followers = false);

  // A delivery that was handed out under this key has ended: when all have, the next ones may go.
  // Ignored where the key is not taken.
  void release(const LaneName& name);

  // A delivery handed out under this key comes back: until then no other may go.
  void close(const LaneName& name);
  // A delivery was handed out and did not run, and others of its key may still run: it returns to
  // its old place.
  void put_back(TrackedDelivery&& delivery);
  // The delivery is back, and first. Like add where its key is not closed.
  void reopen(TrackedDelivery&& delivery);

  using Which = std::function<bool(const TrackedDelivery&)>;
  // Removes and returns what waits behind the holder of this key and `which` holds for, in order.
  std::vector<TrackedDelivery> withdraw(const LaneName& name, const Which& which);
  // Removes and returns all waiting deliveries for which `which` holds, oldest first.
  std::vector<TrackedDelivery> withdraw_if(const Which& which);

  // Whether this one comes right behind what waits or runs under its name: the last of that from
  // outside the store came from the same source, and in `same_generation` of its tags, and none was
  // withdrawn since.
  bool continues(const TrackedDelivery& delivery, bool same_generation) const;

  // Removes and returns what was added and not handed out, oldest first.
  std::vector<TrackedDelivery> drain();

  std::size_t waiting() const noexcept { return waiting_; }  // added, not handed out
  std::size_t running() const noexcept { return running_; }  // handed out, and not ended
  bool ready() const noexcept;                               // take(1) would yield something
  // Free keys under which something waits.
  std::size_t ready_keys() const noexcept { return fresh_.size() + returned_.size(); }
  std::size_t keys_out() const noexcept { return keys_out_; }  // keys of deliveries that are out

 private:
  using Index = IndexTable::Index;
  static constexpr Index kNone = IndexTable::kNone;

  struct Item {
    std::optional<TrackedDelivery> delivery;
    std::uint64_t number = 0;  // grows with each arrival
    Index next = kNone;
  };
  struct Follower {
    KeyId id;
    std::uint64_t number;
  };
  // Where a delivery came from.
  struct Origin {
    std::uint32_t source;
    std::uint64_t generation;
  };
  struct Lane {
    Bytes key;
    bool is_ordering_key = false;
    std::uint64_t hash = 0;
    KeyId id;                         // of its first item, or of the first that was handed out
    std::uint64_t number = 0;         // of the first that was handed out
    std::vector<Follower> followers;  // the ones that were handed out with it
    Index first = kNone, last = kNone;
    std::optional<Origin> newest;  // of the last one from outside, unless some were withdrawn
    std::size_t out = 0;           // handed out, and not ended
    bool closed = false;           // a delivery that was handed out comes back
    bool leads = false;            // the one lane that may run `id`; the others wait in `twins`
    bool suspect = false;
    Index twins = kNone, next_twin = kNone;

    bool taken() const noexcept { return out > 0 || closed; }
    bool has(const KeyId& one) const noexcept;
    std::uint64_t number_of(const KeyId& one) const noexcept;
  };
  struct Turn {
    std::uint64_t number;
    Index lane;
    bool operator>(const Turn& other) const noexcept { return number > other.number; }
  };

  Index lane_of(const LaneName& name);
  Index find_lane(const LaneName& name, std::uint64_t hash) const;
  Index find_lane(const LaneName& name) const;
  Index keep_item(TrackedDelivery&& delivery, std::uint64_t number);
  std::vector<TrackedDelivery> empty_out(std::vector<Index>& items);
  Index find_leader(const KeyId& id, std::uint64_t hash) const;
  Index stop_running(const LaneName& name);
  void go_on(Index lane);
  void line_up(Index lane, bool fresh);
  void free_lane(Index lane);
  void give_up_id(Index lane);
  Index pop_turn();
  void hand_out(Index lane, std::vector<TrackedDelivery>& batch);
  bool hand_out_follower(Index lane, std::vector<TrackedDelivery>& batch);
  void insert_in_order(Lane& lane, Index item);

  std::deque<Item> items_;
  std::deque<Lane> lanes_;
  std::vector<Index> free_items_, free_lanes_;
  IndexTable by_name_;
  IndexTable by_id_;  // of the lanes that lead

  // Turns are in the order of arrival, except those of lanes that were released. With two queues
  // only the few released ones need sorting.
  std::deque<Turn> fresh_;
  std::vector<Turn> returned_;  // a heap
  std::vector<Turn> suspects_;  // a heap
  std::uint64_t arrivals_ = 0;
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
  std::size_t keys_out_ = 0;
  std::size_t suspects_out_ = 0;  // lanes of suspects that are taken
};

}  // namespace semel::core
