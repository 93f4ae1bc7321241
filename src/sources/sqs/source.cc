#include "sources/sqs/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

// Receipts are counted from one on in the life of a source: there is one generation.
constexpr std::uint64_t kGeneration = 1;
// Deletions wait so long for others of their batch.
constexpr milliseconds kRemovalWaits{20};

}  // namespace

SqsSource::SqsSource(SqsOptions options, Environment& environment)
    : options_(std::move(options)),
      spec_(options_.spec),
      environment_(environment),
      client_(spec_),
      removal_pace_(std::min(core::kSqsBatch, static_cast<std::size_t>(spec_.prefetch)),
                    kRemovalWaits),
      ledger_(spec_.visibility) {
  traits_.ends = !options_.follow;
}

SqsSource::~SqsSource() {
  {
    const system::MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  client_.wake();
  if (thread_.joinable()) thread_.join();
}

Result<Received> SqsSource::receive(const ReceiveLimits& limits) {
  event_.drain();
  const system::MutexLock lock(mutex_);
  if (closed_) return failure({ErrorKind::kRejected, "R235", "the SQS source was closed", {}});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (final_) return failure(*final_);
  if (away_) return failure(*away_);
  Received received;
  std::size_t bytes = limits.bytes;
  const bool paused = paused_all_ || paused_queue_;
  const auto full = [&] { return received.arrivals.size() >= limits.messages || bytes == 0; };
  while (!paused && !full()) {
    const Ledger::Taken taken = ledger_.take(now());
    if (taken.arrival == nullptr) break;
    Arrival& arrival = received.arrivals.emplace_back(*taken.arrival);
    arrival.partition = spec_.queue.name;
    arrival.tag = {taken.tag, kGeneration};
    bytes -= std::min(bytes, arrival.payload.size());
  }
  more_ = !paused && full() && ledger_.has_waiting();
  received.notices = std::exchange(notices_, {});
  received.horizon = std::exchange(horizon_, std::nullopt);
  received.at_end = is_at_end();
  if (!options_.follow && !received.at_end && received.arrivals.empty()) {
    end_wanted_ = true;
    client_.wake();
  }
  return received;
}

Wakeup SqsSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_ || !thread_.joinable()) wakeup.due_in = milliseconds(0);
  return wakeup;
}

Result<void> SqsSource::settle(std::span<const Settlement> settlements) {
  const system::MutexLock lock(mutex_);
  const bool none = ledger_.deletes() == 0;
  const bool many = removal_pace_.are_many(ledger_.deletes());
  for (const Settlement& settlement : settlements) {
    if (settlement.tag.generation != kGeneration) continue;
    if (ledger_.settle(settlement.tag.value, settlement.kind)) ++changes_;
  }
  if (ledger_.has_waiting()) event_.signal();
  // In between the thread knows what it needs to know.
  const std::size_t deletes = ledger_.deletes();
  if (none != (deletes == 0) || many != removal_pace_.are_many(deletes)) client_.wake();
  return {};
}

void SqsSource::set_paused(std::string_view partition, bool paused) {
  const system::MutexLock lock(mutex_);
  if (partition.empty()) {
    paused_all_ = paused;
  } else if (partition == spec_.queue.name) {
    paused_queue_ = paused;
  }
  event_.signal();
  client_.wake();
}

std::vector<SourceFigure> SqsSource::figures() {
  const system::MutexLock lock(mutex_);
  if (closed_) return {};
  std::vector<SourceFigure> made = {
      {"in_hand", {}, static_cast<std::int64_t>(ledger_.open()), {}},
      {"to_delete", {}, static_cast<std::int64_t>(ledger_.deletes()), {}}};
  if (expired_ > 0) made.push_back({"expired_receipts", {}, expired_, {}});
  if (throttled_ > 0) made.push_back({"throttled", {}, throttled_, {}});
  return made;
}

Result<void> SqsSource::close(milliseconds deadline) {
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    leave_by_ = now() + deadline;
    stop_ = true;
  }
  changed_.notify_all();
  client_.wake();
  // Each of its calls ends by then.
  if (thread_.joinable()) thread_.join();
  const system::MutexLock lock(mutex_);
  if (all_told_) return {};
  return failure({ErrorKind::kUnavailable,
                  "R390",
                  "the last deletions may not have reached SQS: what was done comes again, and is "
                  "a duplicate then",
                  {}});
}

bool SqsSource::stopping() {
  const system::MutexLock lock(mutex_);
  return stop_ || final_;
}

bool SqsSource::is_at_end() const { return end_at_ == changes_ && !ledger_.has_waiting(); }

void SqsSource::set_final(Error error) {
  if (!final_) final_ = std::move(error);
  event_.signal();
}

void SqsSource::notice(std::string text) {
  notices_.push_back(std::move(text));
  event_.signal();
}

void SqsSource::warn(const char* code, const std::string& text) {
  notice(fmt::format("warning[{}]: {}", code, text));
}

}  // namespace semel::sqs
