// The serving thread of the Kafka source: group, commits, broker outages.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "clients/kafka/errors.h"
#include "sources/kafka/source.h"
#include "system/mutex.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kServe{50};
// A crash repeats at most the messages settled within this time.
constexpr milliseconds kCommitEvery{500};
constexpr milliseconds kLook{500};
constexpr milliseconds kLookEvery{500};
// Time for lost connections to come back before the source checks whether a broker answers.
constexpr milliseconds kReconnect{1'000};
// How long a broker may take for its first answer before it counts as unavailable.
constexpr milliseconds kConnectPatience{5'000};
// A new topic is not known to every broker immediately.
constexpr milliseconds kTopicPatience{2'000};
// The whole group waits during a drain.
constexpr milliseconds kDrainOnRevoke{5'000};
constexpr milliseconds kCommitPatience{5'000};
// For requests that only read.
constexpr milliseconds kAskPatience{2'000};
constexpr milliseconds kCommitPatienceAway{1'000};
// librdkafka is told about free room after this fraction of a queue has been read; the rest lasts
// until it has fetched more.
constexpr std::size_t kShowRoomAfter = 2;
constexpr milliseconds kShowRoomFor{50};
// Longer than a broker delays the first assignment of a group without members
// (group.initial.rebalance.delay.ms).
constexpr milliseconds kAssignPatience{5'000};
// librdkafka's own default of session.timeout.ms.
constexpr const char* kSessionTimeout = "45000";
// Interval of the check of the logs while there is nothing to commit.
constexpr milliseconds kCheckEvery{2'000};

std::string no_partitions(const core::KafkaSpec& spec) {
  const auto session = spec.properties.find("session.timeout.ms");
  const bool named = spec.properties.contains("group.instance.id");
  return fmt::format(
      "no partitions yet: other members of group {} may have them. One that was killed keeps them "
      "until session.timeout.ms ({} ms) is over{}",
      spec.group, session == spec.properties.end() ? kSessionTimeout : session->second,
      named ? "" : "; with group.instance.id its successor has them at once");
}

}  // namespace

void KafkaSource::run() {
  const bool connected = connect();
  while (connected && !stopped()) {
    client_->serve(kServe);
    show_room();
    begin_assigned();
    look_for_begins();
    commit_when_due();
    look_for_brokers();
    tell_no_partitions();
  }
  if (connected) leave();
}

// librdkafka stops fetching for a full queue, and checks it again when its broker's thread wakes
// up, at the latest a second later. With one partition nothing wakes that thread, so a second's
// reading would be limited to one queue.
void KafkaSource::show_room() {
  const TimePoint until = environment_.clock->now() + kShowRoomFor;
  while (!stopping() && environment_.clock->now() < until) {
    const auto read_from = next_with_room();
    // Do not try again: a leader that does not answer delivers nothing, and commits wait for this
    // thread.
    if (!read_from || !client_->show_room(*read_from, kShowRoomFor)) return;
  }
}

std::optional<TopicPartition> KafkaSource::next_with_room() {
  const system::MutexLock lock(mutex_);
  for (const auto& partition : assignment_.all()) {
    const bool enough = partition->messages_read >= client_->ahead().messages / kShowRoomAfter ||
                        partition->bytes_read >= client_->ahead().bytes / kShowRoomAfter;
    if (partition->leaving || partition->messages_read == 0 || !enough) continue;
    partition->messages_read = partition->bytes_read = 0;
    return partition->id;
  }
  return std::nullopt;
}

bool KafkaSource::connect() {
  const TimePoint began = environment_.clock->now();
  std::optional<TimePoint> answered;
  while (!stopping()) {
    const auto wrong = client_->look(kLook);
    client_->serve(milliseconds(0));
    if (wrong) {
      if (!answered) answered = environment_.clock->now();
      if (subscribe(*wrong, *answered)) return true;
    } else if (brokers_down_ || environment_.clock->now() - began > kConnectPatience) {
      const system::MutexLock lock(mutex_);
      if (!away_) {
        away_ = brokers_away(spec_.brokers, last_said_);
        event_.signal();
      }
    }
    client_->serve(kServe);
  }
  return false;
}

// Called before anything is read: the result may prevent the run.
void KafkaSource::ask_horizon() {
  Horizon horizon = client_->ask_horizon(kAskPatience);
  const system::MutexLock lock(mutex_);
  horizon_ = std::move(horizon);
}

bool KafkaSource::subscribe(const std::vector<std::pair<std::string, int>>& wrong,
                            TimePoint answered) {
  {
    const system::MutexLock lock(mutex_);
    connected_ = true;
    away_.reset();
    brokers_down_ = false;
    for (const auto& [topic, code] : wrong) {
      Error error = error_of(code, topic, true);
      if (is_final(error)) {
        set_final(std::move(error));
        return false;
      }
      if (environment_.clock->now() - answered < kTopicPatience) return false;
      if (error.code == "R303") {
        set_final(no_such_topic(topic));
        return false;
      }
    }
    event_.signal();
  }
  ask_horizon();
  if (const auto refused = client_->subscribe()) {
    on_error(*refused, "it cannot join the group");
    return false;
  }
  return true;
}

void KafkaSource::commit_when_due() {
  const TimePoint now = environment_.clock->now();
  if (client_->committing() || now - committed_at_ < kCommitEvery) return;
  committed_at_ = now;
  if (has_to_commit() || now - checked_at_ >= kCheckEvery) check_logs();
  Client::Offsets offsets;
  {
    const system::MutexLock lock(mutex_);
    offsets = offsets_to_commit(false);
  }
  client_->commit(offsets);
}

bool KafkaSource::has_to_commit() {
  const system::MutexLock lock(mutex_);
  return commits_ == Commits::kYes &&
         std::ranges::any_of(assignment_.all(),
                             [](const auto& partition) { return partition->ledger.to_commit(); });
}

Client::Offsets KafkaSource::offsets_to_commit(bool leaving_only) {
  Client::Offsets offsets;
  if (commits_ == Commits::kNever) return offsets;
  for (const auto& partition : assignment_.all()) {
    if (leaving_only && !partition->leaving) continue;
    if (!std::exchange(partition->checked, false)) continue;
    if (const auto next = partition->ledger.take_commit()) {
      offsets.emplace_back(partition->id, *next);
      open_commits_.sent(partition->id, *next, partition->generation);
    }
  }
  return offsets;
}

void KafkaSource::on_committed(const Client::Offsets& offsets, std::optional<int> failed) {
  const system::MutexLock lock(mutex_);
  for (const auto& [id, next] : offsets) {
    const auto generation = open_commits_.answered(id, next);
    Partition* const partition = generation ? assignment_.find(*generation) : nullptr;
    if (partition == nullptr) continue;
    if (failed) {
      partition->ledger.commit_failed();
    } else {
      partition->ledger.committed(next);
    }
  }
  if (!failed) return;
  ++commit_errors_;
  Error error = error_of(client_->cause_of(*failed), "an offset was not committed", true);
  commit_error_ = what_is(*failed);
  // Other errors show elsewhere: the group revokes the partitions, or a broker is unavailable.
  if (is_final(error)) set_final(std::move(error));
}

void KafkaSource::look_for_brokers() {
  const TimePoint now = environment_.clock->now();
  if (!client_->none_is_up()) {
    none_up_since_.reset();
  } else if (!none_up_since_) {
    none_up_since_ = now;
  }
  if (now < next_look_) return;
  // librdkafka does not report every outage: it miscounts if it has closed the coordinator's
  // connection before it loses the last of the others.
  const bool lost = none_up_since_ && now - *none_up_since_ >= kReconnect;
  {
    const system::MutexLock lock(mutex_);
    if (!away_ && !brokers_down_ && !lost) return;
  }
  const bool there = client_->look(kLook).has_value();
  next_look_ = environment_.clock->now() + kLookEvery;
  const system::MutexLock lock(mutex_);
  if (there) {
    brokers_down_ = false;
    away_.reset();
    told_.clear();
  } else if (!away_) {
    away_ = brokers_away(spec_.brokers, last_said_);
  }
  event_.signal();
}

// The group keeps the partitions of a member that was killed until its session is over.
void KafkaSource::tell_no_partitions() {
  const TimePoint now = environment_.clock->now();
  const system::MutexLock lock(mutex_);
  if (!assignment_.empty()) told_none_assigned_ = false;
  if (!assignment_.empty() || away_) return none_assigned_since_.reset();
  if (!none_assigned_since_) none_assigned_since_ = now;
  if (told_none_assigned_ || now - *none_assigned_since_ < kAssignPatience) return;
  told_none_assigned_ = true;
  notices_.push_back(no_partitions(spec_));
  event_.signal();
}

void KafkaSource::on_assigned(const std::vector<TopicPartition>& partitions) {
  const system::MutexLock lock(mutex_);
  for (const TopicPartition& id : partitions) {
    QueuePtr queue = client_->split(id, event_.get());
    if (!queue) {
      return set_final({ErrorKind::kRejected,
                        "R309",
                        fmt::format("librdkafka has no queue for {}", id.name()),
                        {}});
    }
    Partition& added = assignment_.add(id, std::move(queue));
    // begin_assigned() asks for it.
    added.asked = spec_.from == core::KafkaSpec::From::kLatest;
  }
  joined_ = true;
  ++rebalances_;
  event_.signal();
}

void KafkaSource::on_revoked(const std::vector<TopicPartition>& partitions, bool lost) {
  system::RelockableLock lock(mutex_);
  for (const TopicPartition& id : partitions) {
    Partition* const partition = assignment_.find(id);
    if (partition == nullptr) continue;
    partition->leaving = true;
    leaving_.push_back(partition->generation);
  }
  if (!leaving_.empty()) leaving_event_.signal();
  if (!lost) {
    // The engine gives back what has not begun. Running messages are waited for.
    changed_.wait_for(mutex_, kDrainOnRevoke, [&]() SEMEL_REQUIRES(mutex_) {
      return stop_ || assignment_.out_of_leaving() == 0;
    });
    lock.unlock();
    if (has_to_commit()) check_logs();
    lock.lock();
    const Client::Offsets offsets = offsets_to_commit(true);
    lock.unlock();
    client_->commit(offsets);
    client_->wait_committed(environment_.clock->now() + kCommitPatience);
    lock.lock();
  }
  for (const TopicPartition& id : partitions) assignment_.remove(id);
  if (assignment_.empty()) joined_ = false;
  if (lost && !partitions.empty() && !stop_) {
    notices_.push_back(fmt::format(
        "{} partition{} lost to the group: what was in flight there is settled by whoever has "
        "{} now",
        partitions.size(), partitions.size() == 1 ? " was" : "s were",
        partitions.size() == 1 ? "it" : "them"));
  }
  event_.signal();
}

void KafkaSource::on_error(int code, std::string_view said) {
  last_said_ = said;
  const system::MutexLock lock(mutex_);
  take_error(code, said);
}

void KafkaSource::on_all_brokers_down(std::string_view said) {
  brokers_down_ = true;
  if (!said.empty()) last_said_ = said;
}

void KafkaSource::leave() {
  TimePoint by;
  {
    const system::MutexLock lock(mutex_);
    if (!leave_by_) return;
    by = *leave_by_;
    // An unavailable broker is not waited for: messages whose offsets are not committed come again.
    if (away_) by = std::min(by, environment_.clock->now() + kCommitPatienceAway);
  }
  if (has_to_commit()) check_logs();
  Client::Offsets offsets;
  {
    const system::MutexLock lock(mutex_);
    offsets = offsets_to_commit(false);
  }
  client_->commit(offsets);
  client_->wait_committed(by);
  const bool told = !client_->committing() && !has_to_commit();
  (void)client_->close(by);
  const system::MutexLock lock(mutex_);
  all_told_ = told;
}

}  // namespace semel::kafka
