#include "sources/kafka/assignment.h"

#include <algorithm>
#include <utility>

namespace semel::kafka {

namespace {

// A record that was fetched before the log deleted it still arrives, so it skips nothing.
std::optional<Skip> skip_to(std::int64_t next, std::int64_t offset, std::int64_t low) {
  if (low <= next || offset < low) return std::nullopt;
  return Skip{next, low};
}

}  // namespace

std::optional<Skip> Partition::came(std::int64_t offset, std::int64_t low) {
  if (!next) first = Skip{offset, low};
  const auto before = std::exchange(next, offset + 1);
  return before ? skip_to(*before, offset, low) : std::nullopt;
}

std::optional<Skip> Partition::stood_at(std::int64_t offset) {
  if (offset < 0) return std::nullopt;
  if (!next) {
    next = offset;
    return std::nullopt;
  }
  const auto came_first = std::exchange(first, std::nullopt);
  return came_first ? skip_to(offset, came_first->next, came_first->begin) : std::nullopt;
}

Partition& Assignment::add(const TopicPartition& id, QueuePtr queue) {
  remove(id);
  auto partition = std::make_unique<Partition>();
  partition->id = id;
  partition->name = id.name();
  partition->generation = ++generations_;
  partition->queue = std::move(queue);
  partitions_.push_back(std::move(partition));
  return *partitions_.back();
}

void Assignment::remove(const TopicPartition& id) {
  std::erase_if(partitions_, [&](const auto& partition) { return partition->id == id; });
}

void Assignment::begin_anew(Partition& partition) {
  partition.generation = ++generations_;
  partition.ledger = Ledger();
  partition.begin = partition.end = -1;
  partition.at_end = partition.checked = false;
  partition.next.reset();
  partition.low = -1;
  partition.first.reset();
}

Partition* Assignment::find(const TopicPartition& id) {
  const auto found = std::ranges::find_if(partitions_, [&](const auto& p) { return p->id == id; });
  return found == partitions_.end() ? nullptr : found->get();
}

Partition* Assignment::find(std::uint64_t generation) {
  const auto found =
      std::ranges::find_if(partitions_, [&](const auto& p) { return p->generation == generation; });
  return found == partitions_.end() ? nullptr : found->get();
}

void Assignment::rotate() {
  if (partitions_.size() > 1) {
    std::rotate(partitions_.begin(), partitions_.begin() + 1, partitions_.end());
  }
}

bool Assignment::at_end() const {
  // A full ledger returns nothing until something is settled, which a dry run never does.
  return std::ranges::all_of(partitions_, [](const auto& p) {
    return (p->at_end || p->ledger.full()) && !p->ledger.has_given_back();
  });
}

std::vector<std::string> Assignment::names() const {
  std::vector<std::string> names;
  for (const auto& partition : partitions_) names.push_back(partition->name);
  return names;
}

std::vector<std::string> Assignment::unread() const {
  std::vector<std::string> names;
  for (const auto& partition : partitions_) {
    if (!partition->at_end) names.push_back(partition->name);
  }
  return names;
}

std::size_t Assignment::out_of_leaving() const {
  std::size_t out = 0;
  for (const auto& partition : partitions_) {
    if (partition->leaving) out += partition->ledger.out();
  }
  return out;
}

void Pauses::set(std::string_view partition, bool paused) {
  if (partition.empty()) {
    all_ = paused;
  } else if (paused) {
    partitions_.emplace(partition);
  } else {
    partitions_.erase(std::string(partition));
  }
}

}  // namespace semel::kafka
