// OpenCommits: of which assignment each offset is that was sent and not answered. Not thread-safe.
//
// The answer names partition and offset alone. A partition that went and came back, or whose log
// was begun anew meanwhile, has a ledger to which an answer of before means nothing.
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
  // The generation it was sent for, the earliest first; nothing: no such offset was sent.
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
