// Client: a librdkafka consumer, which passes its callbacks to a watcher.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/result.h>

#include "clients/kafka/handles.h"
#include "core/kafka_spec.h"
#include "sources/kafka/assignment.h"
#include "sources/kafka/connections.h"
#include "sources/kafka/group_begins.h"
#include "sources/kafka/retention.h"

namespace semel::kafka {

// One thread serves it; another may read only the `split` queues.
class Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  using Offsets = kafka::Offsets;

  // Called from `serve` and `close`, on their thread.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // Before anything of them is fetched: each must be split now.
    virtual void on_assigned(const std::vector<TopicPartition>& partitions) = 0;
    // Before they are given up. `lost`: others may have them already, and nothing may be committed.
    virtual void on_revoked(const std::vector<TopicPartition>& partitions, bool lost) = 0;
    virtual void on_error(int code, std::string_view said) = 0;
    virtual void on_all_brokers_down(std::string_view said) = 0;
    // `failed`: none of them was committed; librdkafka's code.
    virtual void on_committed(const Offsets& offsets, std::optional<int> failed) = 0;
  };

  static Result<std::unique_ptr<Client>> create(const core::KafkaSpec& spec, Watcher& watcher);
  // Without leaving the group, like a process that dies. All queues must be released before. If
  // librdkafka does not end in time, its threads are left to the process.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The cause of a fatal error, where the table of errors knows it; any other code is its own
  // cause. Thread-safe.
  int cause_of(int code) const;

  // Whether a broker answers within `patience`; then returns the topics that cannot be read, each
  // with its code.
  std::optional<std::vector<std::pair<std::string, int>>> look(std::chrono::milliseconds patience);
  // Both wait for about `patience`.
  Horizon ask_horizon(std::chrono::milliseconds patience) {
    return kafka::ask_horizon(handle_, spec_.topics, patience);
  }
  std::optional<std::chrono::minutes> ask_offsets_retention(std::chrono::milliseconds patience) {
    return kafka::ask_offsets_retention(handle_, patience);
  }
  // The partitions of its topics. Waits. Empty: no answer.
  std::vector<TopicPartition> partitions(std::chrono::milliseconds patience);
  // How many messages come after the group's offsets, according to the brokers; nullopt: no answer.
  // Waits for about `patience` for each partition.
  std::optional<std::int64_t> ask_lag(std::chrono::milliseconds patience);
  // The group's next offset of each; -1 where it has none. Waits. Empty: no answer.
  Offsets committed(const std::vector<TopicPartition>& partitions,
                    std::chrono::milliseconds patience);
  // The end of each, as it is now. Waits for about `patience` for each. kUnavailable names the one
  // without an answer.
  Result<Offsets> ends(const std::vector<TopicPartition>& partitions,
                       std::chrono::milliseconds patience);
  // As of the last fetch; -1 where there was none. Thread-safe.
  struct Edges {
    std::int64_t low = -1;
    std::int64_t high = -1;
  };
  Edges edges(const TopicPartition& partition) const;

  // From any thread.
  bool none_is_up() const { return connections_->none_is_up(); }

  // Joins the group. A code, where librdkafka refuses.
  std::optional<int> subscribe();
  void serve(std::chrono::milliseconds patience);

  // With from: latest, the partitions that the group has assigned and that do not begin before
  // `begin`, which takes all of them, each with its offset or as GroupBegins has it.
  const std::vector<TopicPartition>& waiting() const noexcept { return waiting_; }
  void begin(const Offsets& all);

  // The most of each partition that librdkafka fetches ahead.
  struct Ahead {
    std::size_t messages = 0;
    std::size_t bytes = 0;
  };
  const Ahead& ahead() const noexcept { return ahead_; }
  // Makes librdkafka see that the partition's full queue has room again: its threads look when
  // something wakes them, and a question to the partition's leader does. Waits for the answer;
  // false where there was none.
  bool show_room(const TopicPartition& partition, std::chrono::milliseconds patience);

  // A separate queue for the partition's messages. `fd` becomes readable when some arrive in an
  // empty queue.
  QueuePtr split(const TopicPartition& partition, int fd);

  // Reads a replaced log from its beginning; messages fetched before are dropped. Waits. False:
  // librdkafka does not fetch the partition now.
  bool go_to_begin(const TopicPartition& partition, std::chrono::milliseconds patience);

  // Returns immediately; `serve` calls on_committed.
  void commit(const Offsets& offsets);
  // Waits until all commits were answered.
  void wait_committed(Deadline deadline);
  bool committing() const noexcept { return open_commits_ > 0; }

  // Leaves the group; true where the broker was told before the deadline.
  bool close(Deadline deadline);

 private:
  struct Callbacks;
  explicit Client(const core::KafkaSpec& spec, Watcher& watcher) : spec_(spec), watcher_(watcher) {}
  void take_commits(std::chrono::milliseconds patience);
  void take_rebalance(int code, rd_kafka_topic_partition_list_s* list);
  bool is_cooperative() const;
  void assign(rd_kafka_topic_partition_list_s* list);
  void unassign(rd_kafka_topic_partition_list_s* list);

  const core::KafkaSpec spec_;
  Watcher& watcher_;
  std::shared_ptr<Connections> connections_ = std::make_shared<Connections>();
  rd_kafka_s* handle_ = nullptr;
  QueuePtr commits_;
  int open_commits_ = 0;
  std::vector<TopicPartition> waiting_;
  Ahead ahead_;
  std::string last_said_;  // the last error on the way to a broker
};

}  // namespace semel::kafka
