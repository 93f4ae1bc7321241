#include "tests/support/memory_source.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace semel::test {

MemoryTopic::MemoryTopic() : bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (bell_ < 0) {
    std::perror("eventfd");
    std::abort();
  }
}

MemoryTopic::~MemoryTopic() { ::close(bell_); }

void MemoryTopic::ring() noexcept {
  changed_.notify_all();
  if (::eventfd_write(bell_, 1) != 0) return;  // full: readable already
}

void MemoryTopic::add(Arrival arrival) {
  const std::scoped_lock lock(mutex_);
  if (arrival.partition.empty()) arrival.partition = "memory";
  if (arrival.position.empty()) arrival.position = std::to_string(entries_.size());
  ready_.insert(entries_.size());
  entries_.push_back({std::move(arrival), Where::kReady, {}});
  ring();
}

void MemoryTopic::finish() {
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  ring();
}

std::size_t MemoryTopic::count_locked(Where where) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [&](const Entry& entry) { return entry.where == where; }));
}

std::size_t MemoryTopic::count(Where where) const {
  const std::scoped_lock lock(mutex_);
  return count_locked(where);
}

std::size_t MemoryTopic::added() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}
std::size_t MemoryTopic::acked() const { return count(Where::kAcked); }
std::size_t MemoryTopic::in_flight() const { return count(Where::kOut); }
std::size_t MemoryTopic::unsettled() const { return added() - acked(); }
std::size_t MemoryTopic::deliveries() const {
  const std::scoped_lock lock(mutex_);
  return deliveries_;
}
std::vector<MemoryTopic::Told> MemoryTopic::told() const {
  const std::scoped_lock lock(mutex_);
  return told_;
}

bool MemoryTopic::wait_all_acked(std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience,
                           [&] { return count_locked(Where::kAcked) == entries_.size(); });
}

MemorySource::MemorySource(MemoryTopic& topic, MemorySourceOptions options)
    : topic_(topic), clock_(options.clock != nullptr ? options.clock : system_environment().clock) {
  traits_.name = "memory";
  traits_.redelivers = options.redelivers;
  traits_.replays = options.replays;
  traits_.ends = true;
  const std::scoped_lock lock(topic_.mutex_);
  topic_.ring();
}

MemorySource::~MemorySource() {
  const std::scoped_lock lock(topic_.mutex_);
  give_back();
}

void MemorySource::give_back() {
  for (const std::size_t index : mine_) {
    MemoryTopic::Entry& entry = topic_.entries_[index];
    if (entry.where != MemoryTopic::Where::kOut) continue;
    entry.where = traits_.replays ? MemoryTopic::Where::kReady : MemoryTopic::Where::kAcked;
    if (traits_.replays) topic_.ready_.insert(index);
  }
  mine_.clear();
  topic_.ring();
}

void MemorySource::wake_due(std::chrono::steady_clock::time_point now) {
  if (topic_.later_ == 0) return;
  for (std::size_t i = 0; i < topic_.entries_.size(); ++i) {
    MemoryTopic::Entry& entry = topic_.entries_[i];
    if (entry.where != MemoryTopic::Where::kLater || entry.due > now) continue;
    entry.where = MemoryTopic::Where::kReady;
    topic_.ready_.insert(i);
    --topic_.later_;
  }
}

bool MemorySource::paused(const std::string& partition) const {
  return paused_.contains("") || paused_.contains(partition);
}

Result<Received> MemorySource::receive(const ReceiveLimits& limits) {
  const std::scoped_lock lock(topic_.mutex_);
  eventfd_t drained = 0;
  static_cast<void>(::eventfd_read(topic_.bell_, &drained));
  if (!fail_receive_.empty()) {
    const Error error = std::move(fail_receive_.front());
    fail_receive_.pop_front();
    return failure(error);
  }
  Received received;
  if (closed_) return received;
  wake_due(clock_->now());
  std::size_t bytes = 0;
  for (auto at = topic_.ready_.begin(); at != topic_.ready_.end() &&
                                        received.arrivals.size() < limits.messages &&
                                        bytes < limits.bytes;) {
    const std::size_t index = *at;
    MemoryTopic::Entry& entry = topic_.entries_[index];
    if (paused(entry.arrival.partition)) {
      ++at;
      continue;
    }
    Arrival arrival = entry.arrival;
    arrival.tag = {index, generation_};
    bytes += arrival.payload.size();
    received.arrivals.push_back(std::move(arrival));
    entry.where = MemoryTopic::Where::kOut;
    mine_.insert(index);
    at = topic_.ready_.erase(at);
  }
  topic_.deliveries_ += received.arrivals.size();
  received.at_end = topic_.finished_ && topic_.ready_.empty() && topic_.later_ == 0;
  return received;
}

Wakeup MemorySource::wakeup() {
  const std::scoped_lock lock(topic_.mutex_);
  Wakeup wakeup{topic_.bell_, std::nullopt};
  const auto now = clock_->now();
  const auto due_by = [&](std::chrono::milliseconds in) {
    if (!wakeup.due_in || in < *wakeup.due_in) wakeup.due_in = in;
  };
  for (const std::size_t index : topic_.ready_) {
    if (!paused(topic_.entries_[index].arrival.partition)) {
      due_by(std::chrono::milliseconds(0));
      break;
    }
  }
  if (topic_.later_ == 0) return wakeup;
  for (const MemoryTopic::Entry& entry : topic_.entries_) {
    if (entry.where != MemoryTopic::Where::kLater) continue;
    due_by(std::max(std::chrono::milliseconds(0),
                    std::chrono::ceil<std::chrono::milliseconds>(entry.due - now)));
  }
  return wakeup;
}

Result<void> MemorySource::settle(std::span<const Settlement> settlements) {
  const std::scoped_lock lock(topic_.mutex_);
  if (fail_settle_) return failure(*std::exchange(fail_settle_, std::nullopt));
  for (const Settlement& settlement : settlements) {
    const std::size_t index = settlement.tag.value;
    if (settlement.tag.generation != generation_ || mine_.erase(index) == 0) continue;
    MemoryTopic::Entry& entry = topic_.entries_[index];
    topic_.told_.push_back({entry.arrival.position, settlement.kind, settlement.delay});
    switch (settlement.kind) {
      case Settlement::Kind::kAck:
      case Settlement::Kind::kGone:
        entry.where = MemoryTopic::Where::kAcked;
        break;
      case Settlement::Kind::kLater:
        if (!traits_.redelivers) {
          std::fprintf(stderr, "kLater was told to a source that does not redeliver\n");
          std::abort();
        }
        entry.where = MemoryTopic::Where::kLater;
        entry.due = clock_->now() + settlement.delay;
        ++topic_.later_;
        break;
      case Settlement::Kind::kRelease:
        entry.where = MemoryTopic::Where::kReady;
        topic_.ready_.insert(index);
        break;
    }
  }
  topic_.ring();
  return {};
}

Result<void> MemorySource::extend(std::span<const Tag> tags, std::chrono::milliseconds) {
  const std::scoped_lock lock(topic_.mutex_);
  for (const Tag& tag : tags) {
    if (tag.generation == generation_ && mine_.contains(tag.value)) ++extended_;
  }
  return {};
}

void MemorySource::set_paused(std::string_view partition, bool paused) {
  const std::scoped_lock lock(topic_.mutex_);
  if (paused) {
    paused_.emplace(partition);
  } else if (partition.empty()) {
    paused_.clear();
  } else {
    paused_.erase(std::string(partition));
  }
  topic_.ring();
}

Result<void> MemorySource::close(std::chrono::milliseconds) {
  const std::scoped_lock lock(topic_.mutex_);
  give_back();
  closed_ = true;
  return {};
}

void MemorySource::reassign() {
  const std::scoped_lock lock(topic_.mutex_);
  give_back();
  ++generation_;
}

void MemorySource::fail_receive(Error error) {
  const std::scoped_lock lock(topic_.mutex_);
  fail_receive_.push_back(std::move(error));
  topic_.ring();
}

void MemorySource::fail_settle(Error error) {
  const std::scoped_lock lock(topic_.mutex_);
  fail_settle_ = std::move(error);
}

std::size_t MemorySource::extended() const {
  const std::scoped_lock lock(topic_.mutex_);
  return extended_;
}

}  // namespace semel::test
