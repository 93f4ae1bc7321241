// KafkaSource: topics read as a member of a consumer group.
//
// A thread of its own serves the client: it takes part in rebalances, commits, and keeps
// max.poll.interval.ms, however long handlers take and whether or not the engine receives. Messages
// do not pass through it: each partition has a queue, from which `receive` reads. A partition that
// is paused, or whose messages nobody has room for, is just not read; librdkafka stops fetching
// when the queue is full. (Its own pause would throw away what it has fetched.)
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/source.h>

#include "core/kafka_spec.h"
#include "sources/kafka/assignment.h"
#include "sources/kafka/client.h"
#include "system/event_fd.h"

namespace semel::kafka {

class KafkaSource final : public Source, private Client::Watcher {
 public:
  KafkaSource(core::KafkaSpec spec, Environment& environment);
  // As a process that dies: commits nothing and tells nobody.
  ~KafkaSource() override;

  // Once, before anything else.
  Result<void> open();

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  // For each partition: `lag`, records between the committed offset and the end, as of the last
  // fetch, and `committed`. Of all: `lag`, where it is known of each, `partitions`, `rebalances`
  // and, with its text, `commit_errors`.
  std::vector<SourceFigure> figures() override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The serving thread's.
  void run();
  bool connect();
  bool subscribe(const std::vector<std::pair<std::string, int>>& wrong, TimePoint answered);
  void ask_horizon();
  void look_for_begins();
  void commit_when_due();
  void look_for_brokers();
  void leave();
  void on_assigned(const std::vector<TopicPartition>& partitions) override;
  void on_revoked(const std::vector<TopicPartition>& partitions, bool lost) override;
  void on_error(int code, std::string_view said) override;
  void on_all_brokers_down(std::string_view said) override;
  void on_committed(const Client::Offsets& offsets, std::optional<int> failed) override;

  // With the lock held.
  void read(Partition& partition, const ReceiveLimits& limits, Received& into, std::size_t& bytes);
  bool hand_out_again(Partition& partition, Received& into, std::size_t& bytes);
  void hand_out(Partition& partition, MessagePtr message, Received& into, std::size_t& bytes);
  void take_error(int code, std::string_view said);
  void set_final(Error error);
  std::optional<std::int64_t> lag_of(const Partition& partition) const;
  void tell_once(std::string text);
  Client::Offsets offsets_to_commit(bool leaving_only);
  void stop_thread();

  bool stopping();

  const core::KafkaSpec spec_;
  Environment& environment_;
  SourceTraits traits_;
  system::EventFd event_;
  std::unique_ptr<Client> client_;
  std::thread thread_;

  // The serving thread's.
  std::string last_said_;
  bool brokers_down_ = false;  // librdkafka says so
  TimePoint next_look_{};
  TimePoint committed_at_{};
  TimePoint ask_begins_at_{};

  // The receiving thread's.
  bool more_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  Assignment assignment_;
  Pauses pauses_;
  bool connected_ = false;  // a broker has answered
  bool joined_ = false;     // the group has given us partitions, perhaps none
  bool blocked_ = false;    // a partition is not read until more of it is settled
  std::optional<Error> away_;
  bool told_away_ = false;
  std::optional<Error> final_;
  std::vector<std::string> notices_;
  std::optional<Horizon> horizon_;  // to be told
  std::int64_t rebalances_ = 0;
  std::int64_t commit_errors_ = 0;
  std::string commit_error_;  // the last
  std::set<std::string> told_;
  bool stop_ = false;
  std::optional<TimePoint> leave_by_;
  bool closed_ = false;
  bool all_told_ = true;
};

}  // namespace semel::kafka
