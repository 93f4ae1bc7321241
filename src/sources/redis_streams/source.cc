#include "sources/redis_streams/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::redis_streams {

using std::chrono::milliseconds;

namespace {

// Past the deadline of a close, for the thread to find its way out.
constexpr milliseconds kWayOut{250};
// All tags are of one generation: an entry stays what it is on a new connection.
constexpr std::uint64_t kGeneration = 1;

redis::Target with_stop(redis::Target target, int stop_fd) {
  target.stop_fd = stop_fd;
  return target;
}

}  // namespace

RedisStreamsSource::RedisStreamsSource(RedisStreamsOptions options, redis::Target target,
                                       std::string member, Environment& environment)
    : options_(std::move(options)),
      spec_(options_.spec),
      member_(std::move(member)),
      environment_(environment),
      place_(with_stop(std::move(target), abort_.get()), options_.spec.stream,
             *environment.random) {
  traits_.ends = !options_.follow;
}

RedisStreamsSource::~RedisStreamsSource() {
  {
    const system::MutexLock lock(mutex_);
    stop_ = true;
  }
  abort_.signal();
  changed_.notify_all();
  wake_.signal();
  if (thread_.joinable()) thread_.join();
}

Result<Received> RedisStreamsSource::receive(const ReceiveLimits& limits) {
  event_.drain();
  const system::MutexLock lock(mutex_);
  if (closed_) {
    return failure({ErrorKind::kRejected, "R235", "the Redis Streams source was closed", {}});
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (final_) return failure(*final_);
  if (away_) return failure(*away_);
  Received received;
  std::size_t bytes = limits.bytes;
  const bool paused = paused_all_ || paused_stream_;
  const auto full = [&] { return received.arrivals.size() >= limits.messages || bytes == 0; };
  if (!paused) received.arrivals.reserve(std::min(limits.messages, ledger_.open()));
  while (!paused && !full()) {
    const Ledger::Taken taken = ledger_.take();
    if (taken.arrival == nullptr) break;
    hand_out(taken, received.arrivals);
    bytes -= std::min(bytes, taken.arrival->payload.size());
  }
  more_ = !paused && full() && ledger_.has_waiting();
  received.notices = std::exchange(notices_, {});
  received.at_end = is_at_end();
  if (!options_.follow && !received.at_end && received.arrivals.empty() && !end_wanted_) {
    end_wanted_ = true;
    wake_.signal();
  }
  return received;
}

void RedisStreamsSource::hand_out(const Ledger::Taken& taken, std::vector<Arrival>& into) const {
  Arrival& arrival = into.emplace_back(*taken.arrival);
  arrival.partition = spec_.stream;
  arrival.position = fmt::format("{}-{}", spec_.stream, taken.id.text());
  arrival.tag = {taken.number, kGeneration};
}

Wakeup RedisStreamsSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_ || !thread_.joinable()) wakeup.due_in = milliseconds(0);
  return wakeup;
}

Result<void> RedisStreamsSource::settle(std::span<const Settlement> settlements) {
  const system::MutexLock lock(mutex_);
  const bool none = ledger_.waiting_acks() == 0;
  const bool many = ack_pace_.are_many(ledger_.waiting_acks());
  for (const Settlement& settlement : settlements) {
    if (settlement.tag.generation != kGeneration) continue;
    if (ledger_.settle(settlement.tag.value, settlement.kind)) ++changes_;
  }
  if (ledger_.has_waiting()) event_.signal();
  // In between the thread knows what it needs to know.
  const std::size_t acks = ledger_.waiting_acks();
  if (none != (acks == 0) || many != ack_pace_.are_many(acks)) wake_.signal();
  return {};
}

void RedisStreamsSource::set_paused(std::string_view partition, bool paused) {
  const system::MutexLock lock(mutex_);
  if (partition.empty()) {
    paused_all_ = paused;
  } else if (partition == spec_.stream) {
    paused_stream_ = paused;
  }
  event_.signal();
}

std::vector<SourceFigure> RedisStreamsSource::figures() {
  const system::MutexLock lock(mutex_);
  if (closed_ || !state_) return {};
  std::vector<SourceFigure> made = {{"lag", {}, state_->unread, {}},
                                    {"pending", {}, state_->pending, {}}};
  if (state_->missed > 0) made.push_back({"missed", {}, state_->missed, {}});
  return made;
}

Result<void> RedisStreamsSource::close(milliseconds deadline) {
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    leave_by_ = now() + deadline;
    stop_ = true;
    changed_.notify_all();
    wake_.signal();
    if (thread_.joinable()) {
      // It may wait for a server that does not answer.
      changed_.wait_for(mutex_, deadline + kWayOut,
                        [this]() SEMEL_REQUIRES(mutex_) { return left_; });
      if (!left_) abort_.signal();
    }
  }
  if (thread_.joinable()) thread_.join();
  const system::MutexLock lock(mutex_);
  if (all_told_ && ledger_.waiting_acks() == 0) return {};
  return failure({ErrorKind::kUnavailable,
                  "R250",
                  "the last acknowledgements may not have reached the Redis server: what was done "
                  "comes again, and is a duplicate then",
                  {}});
}

bool RedisStreamsSource::stopping() {
  const system::MutexLock lock(mutex_);
  return stop_ || final_;
}

std::size_t RedisStreamsSource::room() const {
  const auto most = static_cast<std::size_t>(spec_.prefetch);
  return most - std::min(most, ledger_.pending());
}

bool RedisStreamsSource::is_at_end() const {
  return connected_ && end_at_ == changes_ && !ledger_.has_waiting();
}

void RedisStreamsSource::set_final(Error error) {
  if (!final_) final_ = std::move(error);
  event_.signal();
}

void RedisStreamsSource::notice(std::string text) {
  notices_.push_back(std::move(text));
  event_.signal();
}

}  // namespace semel::redis_streams
