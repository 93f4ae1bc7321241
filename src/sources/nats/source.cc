#include "sources/nats/source.h"

#include <algorithm>
#include <utility>

namespace semel::nats {

using std::chrono::milliseconds;

namespace {

// Past the deadline of a close, for the thread to find its way out.
constexpr milliseconds kWayOut{250};

}  // namespace

NatsSource::NatsSource(NatsOptions options, Environment& environment)
    : options_(std::move(options)), spec_(options_.spec), environment_(environment) {
  traits_.ends = !options_.follow;
}

NatsSource::~NatsSource() {
  {
    const system::MutexLock lock(mutex_);
    stop_ = true;
    cut();
  }
  changed_.notify_all();
  wake_.signal();
  if (thread_.joinable()) thread_.join();
}

Result<Received> NatsSource::receive(const ReceiveLimits& limits) {
  event_.drain();
  const system::MutexLock lock(mutex_);
  if (closed_) return failure({ErrorKind::kRejected, "R235", "the NATS source was closed", {}});
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
  if (!options_.follow && !received.at_end && received.arrivals.empty()) {
    end_wanted_ = true;
    wake_.signal();
  }
  return received;
}

void NatsSource::hand_out(const Ledger::Taken& taken, std::vector<Arrival>& into) const {
  Arrival& arrival = into.emplace_back(*taken.arrival);
  arrival.tag = {taken.tag, generation_};
}

Wakeup NatsSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_ || !thread_.joinable()) wakeup.due_in = milliseconds(0);
  return wakeup;
}

Result<void> NatsSource::settle(std::span<const Settlement> settlements) {
  const system::MutexLock lock(mutex_);
  const bool none = ledger_.acks() == 0;
  const bool many = ack_pace_.are_many(ledger_.acks());
  for (const Settlement& settlement : settlements) {
    if (settlement.tag.generation != generation_) {
      // On a new connection it comes again and is settled there.
      in_vain_ = in_vain_ || !connected_;
      continue;
    }
    if (ledger_.settle(settlement.tag.value, settlement.kind)) ++changes_;
  }
  if (ledger_.has_waiting()) event_.signal();
  // In between the thread knows what it needs to know.
  const std::size_t acks = ledger_.acks();
  if (none != (acks == 0) || many != ack_pace_.are_many(acks)) wake_.signal();
  return {};
}

void NatsSource::set_paused(std::string_view partition, bool paused) {
  const system::MutexLock lock(mutex_);
  if (partition.empty()) {
    paused_all_ = paused;
  } else if (partition == spec_.stream) {
    paused_stream_ = paused;
  }
  event_.signal();
}

std::vector<SourceFigure> NatsSource::figures() {
  const system::MutexLock lock(mutex_);
  if (closed_ || !connected_) return {};
  const auto open = static_cast<std::int64_t>(ledger_.open());
  std::vector<SourceFigure> made = {{"lag", {}, pending_ + open, {}}};
  if (redelivered_ > 0) made.push_back({"redelivered", {}, redelivered_, {}});
  return made;
}

Result<void> NatsSource::close(milliseconds deadline) {
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    leave_by_ = now() + deadline;
    stop_ = true;
    changed_.notify_all();
    wake_.signal();
    if (thread_.joinable()) {
      // What it waits for may be a server that does not answer.
      if (!changed_.wait_for(mutex_, deadline + kWayOut,
                             [this]() SEMEL_REQUIRES(mutex_) { return left_; }))
        cut();
    }
  }
  if (thread_.joinable()) thread_.join();
  const system::MutexLock lock(mutex_);
  if (all_told_) return {};
  return failure({ErrorKind::kUnavailable,
                  "R380",
                  "the last acknowledgements may not have reached the NATS server: what was done "
                  "comes again, and is a duplicate then",
                  {}});
}

void NatsSource::cut() {
  if (cuttable_ != nullptr) cuttable_->cut();
}

bool NatsSource::stopping() {
  const system::MutexLock lock(mutex_);
  return stop_ || final_;
}

bool NatsSource::is_at_end() const {
  return connected_ && end_at_ == changes_ && !ledger_.has_waiting();
}

void NatsSource::set_final(Error error) {
  if (!final_) final_ = std::move(error);
  event_.signal();
}

void NatsSource::notice(std::string text) {
  notices_.push_back(std::move(text));
  event_.signal();
}

}  // namespace semel::nats
