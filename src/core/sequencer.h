// Sequencer: which deliveries may run now, in what order, and who must wait for whom.
//
// Messages line up by ordering key, dynamically: no static lanes, so a slow key delays only itself.
// A key handed out is nobody else's until released; one batch may have several messages of it, in
// their order. Twins (same key id) are never out together, whatever their ordering keys: the later
// one waits behind the first. Pure; not thread-safe: the engine owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <semel/key.h>

#include "core/index_table.h"
#include "core/tracked_delivery.h"

namespace semel::core {

class Sequencer {
 public:
  void add(TrackedDelivery&& delivery);

  // Up to `max` deliveries whose ordering keys nobody has, one for each key, oldest first; their
  // keys are then taken. Where these are fewer, `followers` adds what waits behind them: marked,
  // and in the order of its key. Suspect deliveries go before others, in a batch of their own, and
  // nothing more is handed out until all of them are released.
  std::vector<TrackedDelivery> take(std::size_t max, bool followers = false);

  // One that was handed out under this key has ended: when all have, who waited behind them may go.
  // Ignored where nobody has the key.
  void release(BytesView ordering_key);

  // What was handed out under this key comes back: until then nobody else may go.
  void close(BytesView ordering_key);
  // One that was handed out did not run, and others of its key may still: it stands again where it
  // stood.
  void put_back(TrackedDelivery&& delivery);
  // It is back, and first. Like add where its key is not closed.
  void reopen(TrackedDelivery&& delivery);

  // What waits behind who has this key, in order: it is not in the sequencer any more.
  std::vector<TrackedDelivery> withdraw(BytesView ordering_key);
  // All that waits and that `which` holds for, oldest first.
  std::vector<TrackedDelivery> withdraw_if(
      const std::function<bool(const TrackedDelivery&)>& which);

  // What was added and not handed out, oldest first; the sequencer is then empty of it.
  std::vector<TrackedDelivery> drain();

  std::size_t waiting() const noexcept { return waiting_; }  // added, not handed out
  std::size_t running() const noexcept { return running_; }  // handed out, and not ended
  bool ready() const noexcept;                               // take(1) would yield something
  // Keys that nobody has and something waits under.
  std::size_t ready_keys() const noexcept { return fresh_.size() + returned_.size(); }
  std::size_t keys_out() const noexcept { return keys_out_; }  // under which some are handed out

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
  struct Lane {
    Bytes ordering_key;
    std::uint64_t hash = 0;
    KeyId id;                         // of its first item, or of the first that was handed out
    std::uint64_t number = 0;         // of the first that was handed out
    std::vector<Follower> followers;  // that were handed out with it
    Index first = kNone, last = kNone;
    std::size_t out = 0;  // handed out, and not ended
    bool closed = false;  // something that was handed out comes back
    bool leads = false;   // the one lane that may run `id`; the others wait in `twins`
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

  Index lane_of(BytesView ordering_key);
  Index find_lane(BytesView ordering_key, std::uint64_t hash) const;
  Index keep_item(TrackedDelivery&& delivery, std::uint64_t number);
  std::vector<TrackedDelivery> empty_out(std::vector<Index>& items);
  Index find_leader(const KeyId& id, std::uint64_t hash) const;
  Index stop_running(BytesView ordering_key);
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
  IndexTable by_ordering_key_;
  IndexTable by_id_;  // of the lanes that lead

  // Turns come in the order of arrival, but for those of lanes that were released: two queues spare
  // the many the cost of sorting the few.
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
