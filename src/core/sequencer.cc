#include "core/sequencer.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace semel::core {
namespace {

std::uint64_t hash_of(BytesView text) noexcept { return std::hash<std::string_view>{}(text); }
std::uint64_t hash_of(const KeyId& id) noexcept { return hash_of(id.view()); }
std::uint64_t hash_of(const LaneName& name) noexcept { return HashOfLaneName{}(name); }

template <class Pool, class Free>
IndexTable::Index take_place(Pool& pool, Free& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<IndexTable::Index>(pool.size() - 1);
  }
  const IndexTable::Index index = free.back();
  free.pop_back();
  return index;
}

}  // namespace

bool Sequencer::Lane::has(const KeyId& one) const noexcept {
  return id == one || std::ranges::find(followers, one, &Follower::id) != followers.end();
}

std::uint64_t Sequencer::Lane::number_of(const KeyId& one) const noexcept {
  const auto follower = std::ranges::find(followers, one, &Follower::id);
  return follower == followers.end() ? number : follower->number;
}

Sequencer::Index Sequencer::find_leader(const KeyId& id, std::uint64_t hash) const {
  return by_id_.find(hash, [&](Index lane) { return lanes_[lane].has(id); });
}

Sequencer::Index Sequencer::find_lane(const LaneName& name, std::uint64_t hash) const {
  return by_name_.find(hash, [&](Index lane) {
    return LaneName{lanes_[lane].key, lanes_[lane].is_ordering_key} == name;
  });
}

Sequencer::Index Sequencer::find_lane(const LaneName& name) const {
  return find_lane(name, hash_of(name));
}

Sequencer::Index Sequencer::lane_of(const LaneName& name) {
  const std::uint64_t hash = hash_of(name);
  if (const Index known = find_lane(name, hash); known != kNone) return known;
  const Index index = take_place(lanes_, free_lanes_);
  Lane& lane = lanes_[index];
  lane.key.assign(name.key);
  lane.is_ordering_key = name.is_ordering_key;
  lane.hash = hash;
  by_name_.insert(hash, index);
  return index;
}

void Sequencer::free_lane(Index index) {
  Lane& lane = lanes_[index];
  by_name_.erase(lane.hash, index);
  Bytes kept = std::move(lane.key);  // the next lane reuses its buffer
  lane = Lane{};
  lane.key = std::move(kept);
  free_lanes_.push_back(index);
}

Sequencer::Index Sequencer::keep_item(TrackedDelivery&& delivery, std::uint64_t number) {
  const Index index = take_place(items_, free_items_);
  Item& item = items_[index];
  item.delivery.emplace(std::move(delivery));
  item.number = number;
  item.next = kNone;
  ++waiting_;
  return index;
}

void Sequencer::add(TrackedDelivery&& delivery) {
  const Index lane_index = lane_of(LaneName::of(delivery.message));
  Lane& lane = lanes_[lane_index];
  if (!delivery.arrival.row) {
    lane.newest = Origin{delivery.arrival.source, delivery.arrival.tag.generation};
  }
  const Index item_index = keep_item(std::move(delivery), arrivals_++);
  if (lane.first != kNone) {
    items_[lane.last].next = item_index;
    lane.last = item_index;
    return;
  }
  lane.first = lane.last = item_index;
  if (!lane.taken()) line_up(lane_index, true);
}

// Gives the lane a turn for its first item, or queues it behind the lane that has this key id.
void Sequencer::line_up(Index index, bool fresh) {
  Lane& lane = lanes_[index];
  const Item& item = items_[lane.first];
  lane.id = item.delivery->message.key().id;
  lane.suspect = item.delivery->arrival.suspect;
  const std::uint64_t hash = hash_of(lane.id);
  if (const Index leader = find_leader(lane.id, hash); leader != kNone) {
    lane.next_twin = std::exchange(lanes_[leader].twins, index);
    return;
  }
  by_id_.insert(hash, index);
  lane.leads = true;
  const Turn turn{item.number, index};
  if (fresh && !lane.suspect) {
    fresh_.push_back(turn);
    return;
  }
  std::vector<Turn>& heap = lane.suspect ? suspects_ : returned_;
  heap.push_back(turn);
  std::push_heap(heap.begin(), heap.end(), std::greater<>{});
}

// The lane no longer needs its ids: lanes that waited for one of them line up again.
void Sequencer::give_up_id(Index index) {
  Lane& lane = lanes_[index];
  by_id_.erase(hash_of(lane.id), index);
  for (const Follower& follower : lane.followers) by_id_.erase(hash_of(follower.id), index);
  lane.followers.clear();
  lane.leads = false;
  std::vector<Index> twins;
  for (Index twin = std::exchange(lane.twins, kNone); twin != kNone;) {
    twins.push_back(twin);
    twin = std::exchange(lanes_[twin].next_twin, kNone);
  }
  std::sort(twins.begin(), twins.end(), [&](Index a, Index b) {
    return items_[lanes_[a].first].number < items_[lanes_[b].first].number;
  });
  for (const Index twin : twins) line_up(twin, false);
}

bool Sequencer::ready() const noexcept {
  return suspects_out_ == 0 && !(fresh_.empty() && returned_.empty() && suspects_.empty());
}

Sequencer::Index Sequencer::pop_turn() {
  if (!fresh_.empty() && (returned_.empty() || returned_.front() > fresh_.front())) {
    const Index lane = fresh_.front().lane;
    fresh_.pop_front();
    return lane;
  }
  std::vector<Turn>& heap = returned_;
  std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
  const Index lane = heap.back().lane;
  heap.pop_back();
  return lane;
}

// Hands out the lane's first item.
void Sequencer::hand_out(Index lane_index, std::vector<TrackedDelivery>& batch) {
  Lane& lane = lanes_[lane_index];
  const Index index = lane.first;
  Item& item = items_[index];
  batch.push_back(std::move(*item.delivery));
  batch.back().follows = false;
  item.delivery.reset();
  lane.first = item.next;
  if (lane.first == kNone) lane.last = kNone;
  if (lane.out++ == 0) {
    lane.number = item.number;
    ++keys_out_;
  }
  free_items_.push_back(index);
  --waiting_;
  ++running_;
}

// False where the lane has no item that may go with those before it.
bool Sequencer::hand_out_follower(Index lane_index, std::vector<TrackedDelivery>& batch) {
  Lane& lane = lanes_[lane_index];
  if (lane.first == kNone) return false;
  const TrackedDelivery& next = *items_[lane.first].delivery;
  const KeyId& id = next.message.key().id;
  const std::uint64_t hash = hash_of(id);
  if (next.arrival.suspect || find_leader(id, hash) != kNone) return false;
  by_id_.insert(hash, lane_index);
  lane.followers.push_back({id, items_[lane.first].number});
  hand_out(lane_index, batch);
  batch.back().follows = true;
  return true;
}

std::vector<TrackedDelivery> Sequencer::take(std::size_t max, bool followers) {
  std::vector<TrackedDelivery> batch;
  if (max == 0 || !ready()) return batch;
  while (batch.size() < max && !suspects_.empty()) {
    std::pop_heap(suspects_.begin(), suspects_.end(), std::greater<>{});
    const Index lane = suspects_.back().lane;
    suspects_.pop_back();
    hand_out(lane, batch);
    ++suspects_out_;
  }
  if (suspects_out_ > 0) return batch;
  batch.reserve(std::min(max, fresh_.size() + returned_.size()));
  std::vector<Index> lanes;
  while (batch.size() < max && !(fresh_.empty() && returned_.empty())) {
    const Index lane = pop_turn();
    hand_out(lane, batch);
    if (followers) lanes.push_back(lane);
  }
  while (batch.size() < max && !lanes.empty()) {
    std::erase_if(
        lanes, [&](Index lane) { return batch.size() < max && !hand_out_follower(lane, batch); });
  }
  return batch;
}

// Counts down what runs under this key; kNone where nothing does.
Sequencer::Index Sequencer::stop_running(const LaneName& name) {
  const Index index = find_lane(name);
  if (index == kNone || lanes_[index].out == 0) return kNone;
  --running_;
  if (--lanes_[index].out > 0) return index;
  --keys_out_;
  if (lanes_[index].suspect) --suspects_out_;
  give_up_id(index);
  return index;
}

// Frees the lane, unless it is still taken.
void Sequencer::go_on(Index index) {
  if (lanes_[index].taken()) return;
  if (lanes_[index].first != kNone) {
    line_up(index, false);
  } else {
    free_lane(index);
  }
}

void Sequencer::release(const LaneName& name) {
  const Index index = stop_running(name);
  if (index != kNone) go_on(index);
}

void Sequencer::close(const LaneName& name) {
  const Index index = stop_running(name);
  if (index != kNone) lanes_[index].closed = true;
}

void Sequencer::put_back(TrackedDelivery&& delivery) {
  delivery.follows = false;
  const LaneName name = LaneName::of(delivery.message);
  const Index index = find_lane(name);
  if (index == kNone || lanes_[index].out == 0) return add(std::move(delivery));
  const std::uint64_t number = lanes_[index].number_of(delivery.message.key().id);
  stop_running(name);
  insert_in_order(lanes_[index], keep_item(std::move(delivery), number));
  go_on(index);
}

void Sequencer::insert_in_order(Lane& lane, Index item) {
  Index before = kNone;
  Index behind = lane.first;
  while (behind != kNone && items_[behind].number < items_[item].number) {
    before = behind;
    behind = items_[behind].next;
  }
  items_[item].next = behind;
  (before == kNone ? lane.first : items_[before].next) = item;
  if (behind == kNone) lane.last = item;
}

void Sequencer::reopen(TrackedDelivery&& delivery) {
  const Index index = find_lane(LaneName::of(delivery.message));
  if (index == kNone || !lanes_[index].closed) return add(std::move(delivery));
  Lane& lane = lanes_[index];
  const Index item = keep_item(std::move(delivery), lane.number);
  items_[item].next = lane.first;
  if (lane.first == kNone) lane.last = item;
  lane.first = item;
  lane.closed = false;
  go_on(index);
}

std::vector<TrackedDelivery> Sequencer::withdraw(const LaneName& name, const Which& which) {
  const Index index = find_lane(name);
  if (index == kNone || !lanes_[index].taken()) return {};
  Lane& lane = lanes_[index];
  std::vector<Index> withdrawn;
  Index item = std::exchange(lane.first, kNone);
  lane.last = kNone;
  while (item != kNone) {
    const Index next = std::exchange(items_[item].next, kNone);
    if (which(*items_[item].delivery)) {
      withdrawn.push_back(item);
    } else {
      (lane.first == kNone ? lane.first : items_[lane.last].next) = item;
      lane.last = item;
    }
    item = next;
  }
  lane.newest.reset();
  return empty_out(withdrawn);
}

std::vector<TrackedDelivery> Sequencer::withdraw_if(const Which& which) {
  std::vector<TrackedDelivery> withdrawn;
  for (TrackedDelivery& delivery : drain()) {
    if (which(delivery)) {
      const Index lane = find_lane(LaneName::of(delivery.message));
      if (lane != kNone) lanes_[lane].newest.reset();
      withdrawn.push_back(std::move(delivery));
    } else {
      add(std::move(delivery));
    }
  }
  return withdrawn;
}

bool Sequencer::continues(const TrackedDelivery& delivery, bool same_generation) const {
  const Arrival& arrival = delivery.arrival;
  if (arrival.row) return false;
  const Index lane = find_lane(LaneName::of(delivery.message));
  if (lane == kNone || !lanes_[lane].newest) return false;
  const Origin& newest = *lanes_[lane].newest;
  return newest.source == arrival.source &&
         (!same_generation || newest.generation == arrival.tag.generation);
}

// Empties `items`, oldest first.
std::vector<TrackedDelivery> Sequencer::empty_out(std::vector<Index>& items) {
  std::sort(items.begin(), items.end(),
            [&](Index a, Index b) { return items_[a].number < items_[b].number; });
  std::vector<TrackedDelivery> deliveries;
  deliveries.reserve(items.size());
  for (const Index index : items) {
    deliveries.push_back(std::move(*items_[index].delivery));
    items_[index].delivery.reset();
    free_items_.push_back(index);
  }
  waiting_ -= items.size();
  return deliveries;
}

std::vector<TrackedDelivery> Sequencer::drain() {
  std::vector<Index> waiting;
  for (Index index = 0; index < lanes_.size(); ++index) {
    Lane& lane = lanes_[index];
    for (Index item = lane.first; item != kNone; item = items_[item].next) waiting.push_back(item);
    const bool lined_up = lane.first != kNone && !lane.taken();
    lane.first = lane.last = kNone;
    lane.twins = lane.next_twin = kNone;
    if (!lined_up) continue;
    if (lane.leads) by_id_.erase(hash_of(lane.id), index);
    free_lane(index);
  }
  fresh_.clear();
  returned_.clear();
  suspects_.clear();
  return empty_out(waiting);
}

}  // namespace semel::core
