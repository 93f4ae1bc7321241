// Where a group begins partitions that it reads from: latest.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sources/kafka/assignment.h"

namespace semel::kafka {

using Offsets = std::vector<std::pair<TopicPartition, std::int64_t>>;

// Where a partition begins that has no offset, as librdkafka numbers them.
inline constexpr std::int64_t kLogEnd = -1;
inline constexpr std::int64_t kLogBegin = -2;

struct GroupBegins {
  Offsets at;  // each partition, with its offset, kLogEnd or kLogBegin
  // Topics of these partitions in which the group has no offset at all: it is new there.
  std::set<std::string> new_topics;
};

// `offsets`: the group's next offset of every partition of the topics; negative: it has none.
// A partition without an offset begins at its end where the group is new in its topic. Else it was
// added to the topic later, so nobody has read it, and it begins where its log does.
GroupBegins begins_of(const std::vector<TopicPartition>& partitions, const Offsets& offsets);

}  // namespace semel::kafka
