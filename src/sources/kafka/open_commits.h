// OpenCommits: the assignment of each offset that was sent and not answered. Not thread-safe.
//
// The answer contains only partition and offset. A partition that was lost and came back, or whose
// log was replaced meanwhile, has a new ledger, for which an earlier answer means nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sources/kafka/assignment.h"

namespace semel::kafka {

class OpenCommits {
 public:
  void sent(const TopicPartition& id, std::int64_t next, std::uint64_t generation) {
    open_.push_back({id, next, generation});
  }
  // The generation it was sent for, the earliest first; nullopt: no such offset was sent.
  std::optional<std::uint64_t> answered(const TopicPartition& id, std::int64_t next) {
    const auto found = std::ranges::find_if(
        open_, [&](const Open& one) { return one.next == next && one.id == id; });
    if (found == open_.end()) return std::nullopt;
    const std::uint64_t generation = found->generation;
    open_.erase(found);
    return generation;
  }

 private:
  struct Open {
    TopicPartition id;
    std::int64_t next;
    std::uint64_t generation;
  };
  std::vector<Open> open_;
};

}  // namespace semel::kafka
