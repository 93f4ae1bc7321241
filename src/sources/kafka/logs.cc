// The Kafka source and the logs that it reads: where the group stands in them, and whether they are
// still the same.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "sources/kafka/source.h"
#include "system/mutex.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kBeginsPatience{2'000};
constexpr milliseconds kAskBeginsAgain{5'000};
// The thread serves nobody meanwhile, and does not see that it is to stop.
constexpr milliseconds kCheckPatience{1'000};

Error no_offset_in(const std::string& partition) {
  return {ErrorKind::kRejected, "R307",
          fmt::format("{}: the group has lost its offset, as it does when a topic is deleted: this "
                      "is another log than the one that was read",
                      partition),
          "set the group's offsets, or begin at an end of the topic: from: earliest, or latest"};
}

}  // namespace

// Where the group stood in what was just assigned: one question for all is enough.
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
    if (Partition* partition = assignment_.find(id)) partition->begin = next;
  }
  if (offsets.size() == asked.size()) return;
  ask_begins_at_ = now + kAskBeginsAgain;
  for (const TopicPartition& id : asked) {
    Partition* partition = assignment_.find(id);
    if (partition != nullptr && !partition->begin) partition->asked = false;
  }
}

// A broker deletes a group's offsets with the topic, and keeps them while the group has members. So
// an offset that is gone means another log under the same name, in which a position of the old one
// means other records. librdkafka does not tell: it goes on at the position where the new log
// reaches it. Before each commit, for a commit would hide it.
void KafkaSource::check_logs() {
  checked_at_ = environment_.clock->now();
  std::vector<TopicPartition> asked;
  std::map<TopicPartition, std::uint64_t> generations;
  {
    const system::MutexLock lock(mutex_);
    if (away_ || brokers_down_) return;
    for (const auto& partition : assignment_.all()) {
      if (partition->committed() < 0) continue;
      asked.push_back(partition->id);
      generations.emplace(partition->id, partition->generation);
    }
  }
  if (asked.empty()) return;
  for (const auto& [id, next] : client_->committed(asked, kCheckPatience)) {
    if (next < 0) follow_new_log(id, generations.at(id));
  }
}

void KafkaSource::follow_new_log(const TopicPartition& id, std::uint64_t generation) {
  const bool fails = spec_.from == core::KafkaSpec::From::kFail;
  const bool latest = spec_.from == core::KafkaSpec::From::kLatest;
  {
    // Not where it is being taken away, or the reader has met the new log by itself.
    const system::MutexLock lock(mutex_);
    if (assignment_.find(generation) == nullptr) return;
  }
  // What is refused is tried again at the next check.
  if (!fails && !client_->begin_again(id, kCheckPatience)) return;
  const system::MutexLock lock(mutex_);
  Partition* const partition = assignment_.find(generation);
  if (partition == nullptr) return;
  // Nothing that is settled from here on is committed into the new log.
  assignment_.begin_anew(*partition);
  if (fails) return set_final(no_offset_in(partition->name));
  notices_.push_back(fmt::format(
      "{}: the topic was deleted or created anew, for the group's offset is gone; the new log is "
      "read from {}",
      partition->name, latest ? "its end" : "its beginning"));
  event_.signal();
}

}  // namespace semel::kafka
