// The Kafka source and the logs that it reads: the group's offsets in them, and whether they were
// replaced.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sources/kafka/source.h"
#include "system/mutex.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kBeginsPatience{2'000};
constexpr milliseconds kAskBeginsAgain{5'000};
// During a check the thread serves nothing, and does not notice that it must stop.
constexpr milliseconds kCheckPatience{1'000};

Error no_offset_in(const std::string& partition) {
  return {ErrorKind::kRejected, "R307",
          fmt::format("{}: the group has lost its offset, as it does when a topic is deleted: this "
                      "is another log than the one that was read",
                      partition),
          "set the group's offsets, or begin at an end of the topic: from: earliest, or latest"};
}

}  // namespace

// Asks for the group's offsets in all newly assigned partitions, in one request.
void KafkaSource::look_for_begins() {
  const TimePoint now = environment_.clock->now();
  if (now < ask_begins_at_) return;
  std::vector<TopicPartition> asked;
  {
    const system::MutexLock lock(mutex_);
    for (const auto& partition : assignment_.all()) {
      if (std::exchange(partition->asked, true)) continue;
      asked.push_back(partition->id);
    }
  }
  if (asked.empty()) return;
  const Client::Offsets offsets = client_->committed(asked, kBeginsPatience);
  const system::MutexLock lock(mutex_);
  for (const auto& [id, next] : offsets) {
    Partition* const partition = assignment_.find(id);
    if (partition == nullptr) continue;
    partition->begin = next;
    if (const auto skip = partition->stood_at(next)) tell_skip(*partition, *skip);
  }
  if (offsets.size() == asked.size()) return;
  ask_begins_at_ = now + kAskBeginsAgain;
  for (const TopicPartition& id : asked) {
    Partition* partition = assignment_.find(id);
    if (partition != nullptr && !partition->begin) partition->asked = false;
  }
}

// If a partition is read below its log's beginning, librdkafka silently continues at the beginning:
// nothing else shows that the topic deleted records.
void KafkaSource::note_came(Partition& partition, std::int64_t offset) {
  // Asking takes librdkafka's locks, so do not ask if this offset follows the last one.
  const bool follows = partition.next && *partition.next == offset;
  if (!follows) partition.low = std::max(partition.low, client_->edges(partition.id).low);
  const auto skip = partition.came(offset, partition.low);
  if (skip) tell_skip(partition, *skip);
}

void KafkaSource::tell_skip(const Partition& partition, const Skip& skip) {
  skipped_ += skip.begin - skip.next;
  notices_.push_back(fmt::format(
      "{}: skipped offsets {} to {}: the topic let go of them before they were read, and its log "
      "begins at {} now{}",
      partition.name, skip.next, skip.begin - 1, skip.begin,
      spec_.from == core::KafkaSpec::From::kLatest ? "; from: latest goes on at its end" : ""));
  event_.signal();
}

// A broker deletes a group's offsets with the topic, and keeps them while the group has members. So
// a missing offset means a new log under the same name, where a position of the old log means other
// records. librdkafka does not report the new log: it continues once that log reaches the position.
// Called before each commit, because a commit would hide the new log: an unchecked partition is not
// committed.
void KafkaSource::check_logs() {
  checked_at_ = environment_.clock->now();
  std::vector<TopicPartition> asked;
  std::vector<TopicPartition> strays;
  std::map<TopicPartition, std::uint64_t> generations;
  {
    const system::MutexLock lock(mutex_);
    const bool away = away_ || brokers_down_;
    for (const auto& partition : assignment_.all()) {
      // If the group has no offset, there is no old log.
      partition->checked = !partition->strays && partition->committed() < 0;
      if (away || partition->checked) continue;
      (partition->strays ? strays : asked).push_back(partition->id);
      generations.emplace(partition->id, partition->generation);
    }
  }
  for (const TopicPartition& id : strays) go_to_begin(id, generations.at(id));
  if (asked.empty()) return;
  for (const auto& [id, next] : client_->committed(asked, kCheckPatience)) {
    if (next < 0) {
      follow_new_log(id, generations.at(id));
      continue;
    }
    const system::MutexLock lock(mutex_);
    if (Partition* const partition = assignment_.find(generations.at(id))) {
      partition->checked = true;
      partition->ledger.stands_at(next);
    }
  }
}

void KafkaSource::follow_new_log(const TopicPartition& id, std::uint64_t generation) {
  {
    const system::MutexLock lock(mutex_);
    // Skip the partition if it is being revoked, or the reader has found the new log by itself.
    Partition* const partition = assignment_.find(generation);
    if (partition == nullptr) return;
    // Settlements from here on are not committed to the new log, and nothing is read until the
    // reader is at its beginning.
    assignment_.begin_anew(*partition);
    generation = partition->generation;
    if (spec_.from == core::KafkaSpec::From::kFail) {
      return set_final(no_offset_in(partition->name));
    }
    partition->strays = true;
    notices_.push_back(fmt::format(
        "{}: the topic was deleted or created anew, for the group's offset is gone; the new log is "
        "read from its beginning",
        partition->name));
  }
  event_.signal();
  go_to_begin(id, generation);
}

// A refused seek is tried again at the next check.
void KafkaSource::go_to_begin(const TopicPartition& id, std::uint64_t generation) {
  if (!client_->go_to_begin(id, kCheckPatience)) return;
  const system::MutexLock lock(mutex_);
  if (Partition* const partition = assignment_.find(generation)) partition->strays = false;
  event_.signal();
}

}  // namespace semel::kafka
