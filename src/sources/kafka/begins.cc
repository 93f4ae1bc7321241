// The Kafka source that reads from: latest, and where it begins its partitions.
//
// librdkafka begins each partition without an offset at its end. That is right for a new group. But
// a partition that was added to the topic later has records before any member knows of it, and they
// would be skipped. So librdkafka is told where to begin, and nothing is assigned to it before that
// is known.
//
// A group is new in a topic if it has no offset there. If its members committed their partitions
// one by one, a partition that is merely not committed yet would look like one that was added
// later, and be read from its beginning. So the member that has partition 0 commits the ends of all
// partitions at once, before anybody reads: the broker takes one request as a whole, and only from
// a member of the group's present generation. The others wait for these offsets.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sources/kafka/group_begins.h"
#include "sources/kafka/source.h"
#include "system/mutex.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kOffsetsPatience{2'000};
constexpr milliseconds kAskAgain{200};
constexpr milliseconds kEndsPatience{5'000};
// Longer than a member with partition 0 takes to commit the ends.
constexpr milliseconds kBeginPatience{5'000};

bool is_among(const std::vector<TopicPartition>& all, const TopicPartition& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

void KafkaSource::begin_assigned() {
  const TimePoint now = environment_.clock->now();
  const std::vector<TopicPartition> waiting = client_->waiting();
  if (waiting.empty()) return waits_since_.reset();
  // An open commit may be one of these partitions' offset.
  if (now < begin_again_at_ || client_->committing()) return;
  begin_again_at_ = now + kAskAgain;
  if (!waits_since_) waits_since_ = now;
  if (now - *waits_since_ > kBeginPatience) tell_waiting(waiting);
  const auto all = client_->partitions(kOffsetsPatience);
  // A broker that has just started may not know the topic yet.
  const auto known = [&](const TopicPartition& id) {
    return is_among(all, id) && is_among(all, {id.topic, 0});
  };
  if (!std::ranges::all_of(waiting, known)) return;
  const Offsets offsets = client_->committed(all, kOffsetsPatience);
  if (offsets.size() != all.size()) return;
  const GroupBegins begins = begins_of(waiting, offsets);
  if (begins.new_topics.empty() || commits_ == Commits::kNever) return begin_at(begins.at);
  std::vector<TopicPartition> new_here;
  for (const TopicPartition& id : all) {
    const bool is_new = begins.new_topics.contains(id.topic);
    if (is_new && is_among(waiting, {id.topic, 0})) new_here.push_back(id);
  }
  commit_ends(new_here);
}

// The answer does not matter: the offsets are asked for again, and show what the broker has.
void KafkaSource::commit_ends(const std::vector<TopicPartition>& partitions) {
  if (partitions.empty()) return;
  const auto ends = client_->ends(partitions, kOffsetsPatience);
  no_ends_ = ends ? "" : ends.error().message;
  if (!ends) return;
  client_->commit(*ends);
  client_->wait_committed(environment_.clock->now() + kEndsPatience);
  begin_again_at_ = {};
}

void KafkaSource::begin_at(const Offsets& begins) {
  {
    const system::MutexLock lock(mutex_);
    for (const auto& [id, next] : begins) {
      Partition* const partition = assignment_.find(id);
      if (partition == nullptr) continue;
      partition->begin = std::max<std::int64_t>(next, -1);
      (void)partition->stood_at(next);
      if (next != kLogBegin) continue;
      notices_.push_back(fmt::format(
          "{}: the group has offsets in other partitions of the topic and none here: it was added, "
          "or nobody has committed in it; it is read from its beginning",
          partition->name));
    }
    event_.signal();
  }
  client_->begin(begins);
}

void KafkaSource::tell_waiting(const std::vector<TopicPartition>& waiting) {
  const system::MutexLock lock(mutex_);
  if (!no_ends_.empty()) {
    return tell_once(fmt::format(
        "{} is not read yet: with from: latest a new group begins at the ends of all partitions of "
        "a topic, and {}",
        waiting.front().name(), no_ends_));
  }
  tell_once(fmt::format(
      "{} is not read yet: with from: latest the member of group {} that has partition 0 of a "
      "topic commits where a new group begins in it, and that is not known yet",
      waiting.front().name(), spec_.group));
}

}  // namespace semel::kafka
