#include "sources/kafka/group_begins.h"

#include <map>

namespace semel::kafka {

GroupBegins begins_of(const std::vector<TopicPartition>& partitions, const Offsets& offsets) {
  std::map<TopicPartition, std::int64_t> committed;
  std::set<std::string> known;
  for (const auto& [id, next] : offsets) {
    if (next < 0) continue;
    committed.emplace(id, next);
    known.insert(id.topic);
  }
  GroupBegins made;
  for (const TopicPartition& id : partitions) {
    const auto found = committed.find(id);
    if (found != committed.end()) {
      made.at.emplace_back(id, found->second);
    } else if (known.contains(id.topic)) {
      made.at.emplace_back(id, kLogBegin);
    } else {
      made.at.emplace_back(id, kLogEnd);
      made.new_topics.insert(id.topic);
    }
  }
  return made;
}

}  // namespace semel::kafka
