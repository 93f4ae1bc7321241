// Parts: the entries of a batch, grouped into as few calls as possible. On a Cluster a call touches
// a single slot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "clients/redis/slot_map.h"
#include "stores/redis/store_context.h"

namespace semel::redis {

// Not thread-safe.
class Parts {
 public:
  // `records`: how many will be added, if known, to reserve memory.
  explicit Parts(const StoreContext& context, std::size_t records = 0)
      : by_slot_(context.names.cluster),
        room_(by_slot_ ? 2 * records / kSlots : std::min(records, kMostKeys)) {
    if (records == 0) return;
    if (by_slot_) calls_.reserve(std::min<std::size_t>(records, kSlots));
    call_of_.reserve(records);
  }

  // The call for the next entry, which is in the slot of `key`. `weight`: in bytes. `begin` writes
  // the beginning of a new call.
  template <class Begin>
  Call& add(std::string_view key, std::size_t weight, Begin&& begin) {
    return add_in(by_slot_ ? cluster_slot(key) : std::uint16_t{0}, weight, begin);
  }
  // The same for an entry about a record.
  template <class Begin>
  Call& add_record(const KeyId& id, std::size_t weight, Begin&& begin) {
    return add_in(by_slot_ ? Names::cluster_slot_of(id) : std::uint16_t{0}, weight, begin);
  }

  const std::vector<Call>& calls() const noexcept { return calls_; }
  std::vector<Call>& calls() noexcept { return calls_; }
  std::size_t size() const noexcept { return call_of_.size(); }

  // Calls `see` with each entry, in the order of their adding, its call, and its index in that
  // call.
  template <class See>
  void each(See&& see) const {
    std::vector<std::size_t> seen(calls_.size());
    for (std::size_t at = 0; at < call_of_.size(); ++at) {
      see(at, call_of_[at], seen[call_of_[at]]++);
    }
  }
  // Each entry and its own letter of the answers.
  template <class See>
  void each_letter(const std::vector<Reply>& replies, See&& see) const {
    each([&](std::size_t at, std::size_t call, std::size_t i) {
      see(at, replies[call].bytes.at(i));
    });
  }
  // The same where an answer is a list.
  template <class See>
  void each_reply(std::vector<Reply>& replies, See&& see) const {
    each([&](std::size_t at, std::size_t call, std::size_t i) {
      see(at, replies[call].list.at(i));
    });
  }

 private:
  // The last call of a slot.
  struct Open {
    std::uint16_t slot = 0;
    std::size_t call = 0;
    std::size_t entries = 0;
    std::size_t bytes = 0;
  };
  // In bytes: a record's name, and its arguments.
  static constexpr std::size_t kUsualName = 40;
  static constexpr std::size_t kUsualArgument = 80;

  template <class Begin>
  Call& add_in(std::uint16_t slot, std::size_t weight, Begin&& begin) {
    auto open = std::ranges::find(open_, slot, &Open::slot);
    if (open == open_.end()) open = open_.insert(open, {slot, 0, 0, 0});
    if (open->entries >= kMostKeys || open->bytes > kMostBytes || open->entries == 0) {
      *open = {slot, calls_.size(), 0, 0};
      Call& begun = calls_.emplace_back();
      begun.keys.reserve(room_, kUsualName * room_);
      begun.arguments.reserve(room_, kUsualArgument * room_);
      begin(begun);
    }
    ++open->entries;
    open->bytes += weight;
    call_of_.push_back(open->call);
    return calls_[open->call];
  }

  const bool by_slot_;
  const std::size_t room_;  // typical number of entries in a call
  std::vector<Open> open_;  // few: for records, one for each of their slots
  std::vector<Call> calls_;
  std::vector<std::size_t> call_of_;
};

}  // namespace semel::redis
