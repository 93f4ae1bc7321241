#include "sources/broker/broker_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::broker {

using std::chrono::milliseconds;

namespace {

// Additional time after a close's deadline, for the thread to end.
constexpr milliseconds kWayOut{250};
// Clients decode what a producer nested by recursion: a frame that is full of lists in lists
// overflows the stack that threads have where that of the process is unlimited.
constexpr std::size_t kStack = std::size_t{16} << 20;

}  // namespace

BrokerSource::BrokerSource(BrokerSourceSetup setup, Environment& environment)
    : environment_(environment),
      ack_pace_(setup.ack_pace),
      traits_(setup.traits),
      name_(std::move(setup.name)),
      partition_(std::move(setup.partition)),
      follow_(setup.follow),
      hands_out_while_away_(setup.hands_out_while_away),
      untold_(std::move(setup.untold)) {
  traits_.ends = !follow_;
}

void BrokerSource::die() {
  {
    const system::MutexLock lock(mutex_);
    stop_ = true;
    interrupt();
  }
  cut();
  changed_.notify_all();
  wake();
  if (thread_.joinable()) thread_.join();
}

void BrokerSource::begin_thread() {
  thread_ = system::StackThread(kStack, [this] {
    run();
    const system::MutexLock lock(mutex_);
    left_ = true;
    changed_.notify_all();
  });
}

Result<Received> BrokerSource::receive(const ReceiveLimits& limits) {
  event_.drain();
  const system::MutexLock lock(mutex_);
  if (closed_) {
    return failure(
        {ErrorKind::kRejected, "R235", fmt::format("the {} source was closed", name_), {}});
  }
  if (!thread_.joinable()) begin_thread();
  if (final_) return failure(*final_);
  if (aside_ || outdated_) return Received{};
  if (away_ && !(hands_out_while_away_ && has_waiting())) return failure(*away_);
  Received received;
  std::size_t bytes = limits.bytes;
  const auto full = [&] { return received.arrivals.size() >= limits.messages || bytes == 0; };
  if (!paused_) received.arrivals.reserve(std::min(limits.messages, open()));
  while (!paused_ && !full() && hand_out(received.arrivals)) {
    bytes -= std::min(bytes, received.arrivals.back().payload.size());
  }
  more_ = !paused_ && full() && has_waiting();
  received.notices = std::exchange(notices_, {});
  received.horizon = std::exchange(horizon_, std::nullopt);
  received.at_end = end_at_ == changes_ && !has_waiting();
  if (!follow_ && !received.at_end && received.arrivals.empty()) {
    end_wanted_ = true;
    wake();
  }
  return received;
}

Wakeup BrokerSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_ || !thread_.joinable()) wakeup.due_in = milliseconds(0);
  return wakeup;
}

void BrokerSource::end_intake() noexcept {
  const system::MutexLock lock(mutex_);
  intake_ended_ = true;
}

Result<void> BrokerSource::settle(std::span<const Settlement> settlements) {
  const system::MutexLock lock(mutex_);
  const bool none = untold() == 0;
  const bool many = ack_pace_.are_many(untold());
  for (const Settlement& settlement : settlements) {
    if (settle_one(settlement)) ++changes_;
  }
  if (has_waiting()) event_.signal();
  // Wake the thread only for the first acknowledgement and once there are many of them.
  const std::size_t acks = untold();
  if (none != (acks == 0) || many != ack_pace_.are_many(acks)) wake();
  return {};
}

void BrokerSource::set_paused(std::string_view partition, bool paused) {
  const system::MutexLock lock(mutex_);
  if (partition.empty()) {
    paused_all_ = paused;
  } else if (partition == partition_) {
    paused_partition_ = paused;
  }
  paused_ = paused_all_ || paused_partition_;
  event_.signal();
  wake();
}

Result<void> BrokerSource::close(milliseconds deadline) {
  bool too_late = false;
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    leave_by_ = now() + deadline;
    stop_ = true;
    changed_.notify_all();
    wake();
    // The thread may be waiting for a server that does not answer: interrupt it after the deadline.
    too_late =
        thread_.joinable() && !changed_.wait_for(mutex_, deadline + kWayOut,
                                                 [this]() SEMEL_REQUIRES(mutex_) { return left_; });
    if (too_late) interrupt();
  }
  if (too_late) cut();
  if (thread_.joinable()) thread_.join();
  const system::MutexLock lock(mutex_);
  if (is_all_told()) return {};
  return failure(untold_);
}

void BrokerSource::stand_aside(bool aside) noexcept {
  {
    const system::MutexLock lock(mutex_);
    aside_ = aside;
    changed_.notify_all();
  }
  wake();
}

bool BrokerSource::stands_aside() {
  const system::MutexLock lock(mutex_);
  return aside_;
}

void BrokerSource::wait_aside() {
  const system::MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return !aside_ || stop_ || final_; });
}

bool BrokerSource::stopping() {
  const system::MutexLock lock(mutex_);
  return stop_ || final_;
}

void BrokerSource::rest(milliseconds time) {
  if (time.count() == 0) return;
  const system::MutexLock lock(mutex_);
  changed_.wait_for(mutex_, time, [this]() SEMEL_REQUIRES(mutex_) { return stop_ || final_; });
}

void BrokerSource::set_final(Error error) {
  if (!final_) final_ = std::move(error);
  event_.signal();
}

void BrokerSource::set_away(Error error) {
  away_ = std::move(error);
  event_.signal();
}

void BrokerSource::notice(std::string text) {
  notices_.push_back(std::move(text));
  event_.signal();
}

void BrokerSource::reach_end() {
  end_wanted_ = false;
  end_at_ = changes_;
  event_.signal();
}

}  // namespace semel::broker
