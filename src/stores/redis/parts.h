// Parts: the entries of a batch, put into as few calls as may be. On a Cluster a call touches one
// slot alone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/core.h"
#include "stores/redis/slot_map.h"

namespace semel::redis {

// Not for several threads.
class Parts {
 public:
  explicit Parts(const Core& core) : by_slot_(core.names.cluster) {}

  // The call that the next entry goes into, which stands in the slot of `key`. `weight`: in bytes.
  // `begin` writes what a call begins with.
  template <class Begin>
  Call& add(std::string_view key, std::size_t weight, Begin&& begin) {
    Open* open = &all_;
    if (by_slot_) open = &slots_[cluster_slot(key)];
    if (open->entries >= kMostKeys || open->bytes > kMostBytes || open->entries == 0) {
      *open = {calls_.size(), 0, 0};
      begin(calls_.emplace_back());
      entries_.emplace_back();
    }
    ++open->entries;
    open->bytes += weight;
    entries_[open->call].push_back(count_++);
    return calls_[open->call];
  }

  const std::vector<Call>& calls() const noexcept { return calls_; }
  std::size_t size() const noexcept { return count_; }
  // Which entries, in the order of their adding, are in a call.
  const std::vector<std::size_t>& entries_of(std::size_t call) const { return entries_[call]; }

  // `see` is given each entry and its own letter of the answers.
  template <class See>
  void each_letter(const std::vector<Reply>& replies, See&& see) const {
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      for (std::size_t i = 0; i < entries_[call].size(); ++i) {
        see(entries_[call][i], replies[call].bytes.at(i));
      }
    }
  }
  // The same where an answer is a list.
  template <class See>
  void each_reply(std::vector<Reply>& replies, See&& see) const {
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      for (std::size_t i = 0; i < entries_[call].size(); ++i) {
        see(entries_[call][i], replies[call].list.at(i));
      }
    }
  }

 private:
  struct Open {
    std::size_t call = 0;
    std::size_t entries = 0;
    std::size_t bytes = 0;
  };

  const bool by_slot_;
  Open all_;
  std::map<std::uint16_t, Open> slots_;
  std::vector<Call> calls_;
  std::vector<std::vector<std::size_t>> entries_;
  std::size_t count_ = 0;
};

}  // namespace semel::redis
