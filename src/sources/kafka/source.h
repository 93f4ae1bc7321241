// KafkaSource: topics read as a member of a consumer group.
//
// A thread of its own serves the client: it takes part in rebalances, commits, and keeps
// max.poll.interval.ms, however long handlers take and whether or not the engine receives. Messages
// do not pass through it: each partition has a queue, from which `receive` reads. A partition that
// is paused, or whose messages find no room, is simply not read; librdkafka stops fetching when the
// queue is full. (Its own pause would drop what it has fetched.)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/kafka_spec.h"
#include "core/leaving_partitions.h"
#include "sources/kafka/arrival.h"
#include "sources/kafka/assignment.h"
#include "sources/kafka/client.h"
#include "sources/kafka/make_kafka_source.h"
#include "sources/kafka/open_commits.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::kafka {

class KafkaSource final : public Source, public core::LeavingPartitions, private Client::Watcher {
 public:
  KafkaSource(core::KafkaSpec spec, Environment& environment, Commits commits = Commits::kYes);
  // Ends like a process that dies: commits nothing and sends nothing.
  ~KafkaSource() override;

  // Call it once, before anything else.
  Result<void> open();

  const SourceTraits& traits() const noexcept override { return kSourceTraits; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  // For each partition: `lag`, records between the committed offset and the end, as of the last
  // fetch, and `committed`. In total: `lag`, if it is known for each, `partitions`, `rebalances`
  // and, if there are some, `skipped` and, with its text, `commit_errors`.
  std::vector<SourceFigure> figures() override;
  std::optional<std::vector<std::string>> unread() override;
  Result<void> close(std::chrono::milliseconds deadline) override;
  std::vector<std::uint64_t> take_leaving() noexcept override;
  int leaving_fd() const noexcept override { return leaving_event_.get(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Called on the serving thread.
  void run();
  bool connect() SEMEL_EXCLUDES(mutex_);
  bool subscribe(const std::vector<std::pair<std::string, int>>& wrong, TimePoint answered)
      SEMEL_EXCLUDES(mutex_);
  void ask_horizon() SEMEL_EXCLUDES(mutex_);
  void begin_assigned() SEMEL_EXCLUDES(mutex_);
  void commit_ends(const std::vector<TopicPartition>& partitions) SEMEL_EXCLUDES(mutex_);
  void begin_at(const Offsets& begins) SEMEL_EXCLUDES(mutex_);
  void tell_waiting(const std::vector<TopicPartition>& waiting) SEMEL_EXCLUDES(mutex_);
  void look_for_begins() SEMEL_EXCLUDES(mutex_);
  void show_room() SEMEL_EXCLUDES(mutex_);
  // A partition whose queue was read far enough since it was last asked for.
  std::optional<TopicPartition> next_with_room() SEMEL_EXCLUDES(mutex_);
  void check_logs() SEMEL_EXCLUDES(mutex_);
  void follow_new_log(const TopicPartition& id, std::uint64_t generation) SEMEL_EXCLUDES(mutex_);
  void go_to_begin(const TopicPartition& id, std::uint64_t generation) SEMEL_EXCLUDES(mutex_);
  bool has_to_commit() SEMEL_EXCLUDES(mutex_);
  void commit_when_due() SEMEL_EXCLUDES(mutex_);
  void look_for_brokers() SEMEL_EXCLUDES(mutex_);
  void tell_no_partitions() SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void on_assigned(const std::vector<TopicPartition>& partitions) override;
  void on_revoked(const std::vector<TopicPartition>& partitions, bool lost) override;
  void on_error(int code, std::string_view said) override;
  void on_all_brokers_down(std::string_view said) override;
  void on_committed(const Client::Offsets& offsets, std::optional<int> failed) override;

  void read(Partition& partition, const ReceiveLimits& limits, Received& into, std::size_t& bytes)
      SEMEL_REQUIRES(mutex_);
  bool hand_out_again(Partition& partition, Received& into, std::size_t& bytes)
      SEMEL_REQUIRES(mutex_);
  void hand_out(Partition& partition, RecordPtr record, Received& into, std::size_t& bytes)
      SEMEL_REQUIRES(mutex_);
  void note_came(Partition& partition, std::int64_t offset) SEMEL_REQUIRES(mutex_);
  void tell_skip(const Partition& partition, const Skip& skip) SEMEL_REQUIRES(mutex_);
  void meet_end(Partition& partition, std::int64_t end) SEMEL_REQUIRES(mutex_);
  void take_failure(Partition& partition, const Taken::Failure& failure) SEMEL_REQUIRES(mutex_);
  void tell_going_back(Partition& partition, std::int64_t offset) SEMEL_REQUIRES(mutex_);
  void take_error(int code, std::string_view said) SEMEL_REQUIRES(mutex_);
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  std::optional<std::int64_t> lag_of(const Partition& partition) const SEMEL_REQUIRES(mutex_);
  void tell_once(std::string text) SEMEL_REQUIRES(mutex_);
  Client::Offsets offsets_to_commit(bool leaving_only) SEMEL_REQUIRES(mutex_);
  void stop_thread() SEMEL_EXCLUDES(mutex_);

  // Nothing more is read.
  bool stopping() SEMEL_EXCLUDES(mutex_);
  // Nothing more is settled either: until then the thread commits, and is a member, whatever error
  // ended the reading.
  bool stopped() SEMEL_EXCLUDES(mutex_);

  const core::KafkaSpec spec_;
  const Commits commits_;
  Environment& environment_;
  system::EventFd event_;
  system::EventFd leaving_event_;  // partitions are taken away, and the engine does not know it
  std::unique_ptr<Client> client_;
  std::thread thread_;

  // Used by the serving thread only.
  std::string last_said_;
  bool brokers_down_ = false;  // librdkafka says so
  TimePoint next_look_{};
  std::optional<TimePoint> none_up_since_;
  TimePoint committed_at_{};
  TimePoint checked_at_{};
  TimePoint ask_begins_at_{};
  TimePoint begin_again_at_{};
  std::optional<TimePoint> waits_since_;  // partitions that do not begin yet
  std::string no_ends_;  // why this member could not commit the ends; empty: it did
  std::optional<TimePoint> none_assigned_since_;
  bool told_none_assigned_ = false;  // since it last had a partition

  // Used by the receiving thread only.
  bool more_ = false;

  system::Mutex mutex_;
  system::CondVar changed_;
  Assignment assignment_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> leaving_ SEMEL_GUARDED_BY(mutex_);  // generations, to be told
  Pauses pauses_ SEMEL_GUARDED_BY(mutex_);
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;  // a broker has answered
  // the group has assigned partitions, perhaps none
  bool joined_ SEMEL_GUARDED_BY(mutex_) = false;
  // a partition is not read until more of it is settled
  bool blocked_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  bool told_away_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Horizon> horizon_ SEMEL_GUARDED_BY(mutex_);  // not reported yet
  std::int64_t rebalances_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::int64_t commit_errors_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::string commit_error_ SEMEL_GUARDED_BY(mutex_);  // the last
  // offsets that their topics deleted before they were read
  std::int64_t skipped_ SEMEL_GUARDED_BY(mutex_) = 0;
  OpenCommits open_commits_ SEMEL_GUARDED_BY(mutex_);
  std::set<std::string> told_ SEMEL_GUARDED_BY(mutex_);
  bool stop_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<TimePoint> leave_by_ SEMEL_GUARDED_BY(mutex_);
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool all_told_ SEMEL_GUARDED_BY(mutex_) = true;
};

}  // namespace semel::kafka
