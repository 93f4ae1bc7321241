// Assignment: the partitions that this member of the group has now, each with its ledger and queue.
//
// Each assignment of a partition has its own generation, which is in a delivery's tag: a settlement
// after the partition was taken away finds nothing here. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clients/kafka/handles.h"
#include "sources/kafka/ledger.h"

namespace semel::kafka {

struct TopicPartition {
  std::string topic;
  std::int32_t number = 0;

  std::string name() const { return topic + "-" + std::to_string(number); }
  auto operator<=>(const TopicPartition&) const = default;
};

// Offsets that the log had deleted before they were read: from `next` up to `begin`.
struct Skip {
  std::int64_t next = 0;
  std::int64_t begin = 0;
  bool operator==(const Skip&) const = default;
};

struct Partition {
  TopicPartition id;
  std::string name;
  std::uint64_t generation = 0;
  QueuePtr queue;
  Ledger ledger;
  bool at_end = false;    // as of the last fetch
  bool missing = false;   // it does not exist, and that was reported
  std::int64_t end = -1;  // its end, as of the fetch that reached it
  // The group's offset when it was assigned; -1: it had none; nullopt: unknown yet.
  std::optional<std::int64_t> begin;
  bool asked = false;    // the offset was asked for
  bool leaving = false;  // it is being taken away: nothing more is read
  // Its log was replaced, and the reader is not at the new one's beginning yet: nothing is read.
  bool strays = false;
  // Read since librdkafka was last told that the queue has room.
  std::size_t messages_read = 0;
  std::size_t bytes_read = 0;
  // Whether it was verified, since the last commit, to be the log that the group's offset belongs
  // to.
  bool checked = false;

  // The next expected offset, as far as known, and the state of earlier ones.
  std::optional<std::int64_t> next;
  std::optional<Skip> first;  // the first offset that came, and where the log began then
  std::int64_t low = -1;      // the highest known beginning of the log; -1: unknown
  // The next record is at `offset`; `low`: the log's beginning, -1: unknown. Records before that
  // beginning are skipped. A gap after it does not count: compaction and transactions leave gaps.
  std::optional<Skip> came(std::int64_t offset, std::int64_t low);
  // The group's offset when it was assigned, once it is known; -1: it had none.
  std::optional<Skip> stood_at(std::int64_t offset);

  // The group's offset, as committed or asked for; -1: none.
  std::int64_t committed() const noexcept {
    return std::max(ledger.committed(), begin.value_or(-1));
  }
};

class Assignment {
 public:
  Partition& add(const TopicPartition& id, QueuePtr queue);
  void remove(const TopicPartition& id);
  void clear() { partitions_.clear(); }
  // Its log was cut or replaced: from now on its offsets mean other records than those that are
  // out.
  void begin_anew(Partition& partition);

  Partition* find(const TopicPartition& id);
  Partition* find(std::uint64_t generation);
  bool empty() const noexcept { return partitions_.empty(); }
  std::vector<std::unique_ptr<Partition>>& all() noexcept { return partitions_; }

  // Puts another one first, so that none is always read last.
  void rotate();

  // Everything that was there at the last fetches has been handed out.
  bool at_end() const;
  std::vector<std::string> names() const;
  // The names of those not read to their ends at the last fetches.
  std::vector<std::string> unread() const;
  // For the partitions that are leaving: the messages handed out and not settled.
  std::size_t out_of_leaving() const;

 private:
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::uint64_t generations_ = 0;
};

// Which partitions are paused, by name; kept over assignments.
class Pauses {
 public:
  void set(std::string_view partition, bool paused);
  bool holds(const std::string& partition) const { return all_ || partitions_.contains(partition); }

 private:
  bool all_ = false;
  std::set<std::string> partitions_;
};

}  // namespace semel::kafka
