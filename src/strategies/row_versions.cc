#include "strategies/row_versions.h"

#include <algorithm>
#include <iterator>

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

// An early message is tried again soon at first: most predecessors are done within a batch's time.
constexpr milliseconds kFirstWait{50};
constexpr int kMostDoublings = 16;
// A message that comes again so long after it was due has ended elsewhere.
constexpr std::chrono::minutes kOverdue{1};
// A delay is whatever a handler says.
constexpr milliseconds kLongestDelay = std::chrono::hours(24);
// Beyond so many none is remembered, and an early version counts as a try.
constexpr std::size_t kMostKnown = 100'000;

bool is_settled(const Outcome& outcome) {
  return outcome.kind != Outcome::Kind::kRetry && outcome.kind != Outcome::Kind::kBusy;
}

}  // namespace

RowVersions::Turn RowVersions::take_turn(std::span<const VersionedMessage> messages) {
  std::vector<LockName> rows;
  for (const VersionedMessage& message : messages) rows.push_back(message.based_on.row);
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const system::MutexLock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  if (known_.size() + messages.size() > kMostKnown) forget_expired();
  for (const VersionedMessage& message : messages) remember(message);
  for (const LockName& row : rows) rows_[row].tickets.push_back(ticket);
  ++waiting_;
  turned_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) {
    return std::ranges::all_of(rows, [&](const LockName& row) SEMEL_REQUIRES(mutex_) {
      return rows_.find(row)->second.tickets.front() == ticket;
    });
  });
  --waiting_;
  return {*this, ticket, std::move(rows)};
}

void RowVersions::end_turn(std::uint64_t ticket, const std::vector<LockName>& rows) {
  const system::MutexLock lock(mutex_);
  for (const LockName& row : rows) {
    const auto at = rows_.find(row);
    std::erase(at->second.tickets, ticket);
    if (at->second.tickets.empty() && at->second.messages.empty()) rows_.erase(at);
  }
  turned_.notify_all();
}

void RowVersions::remember(const VersionedMessage& message) {
  auto at = known_.find(message.key);
  if (at != known_.end() && (at->second.based_on.row != message.based_on.row ||
                             at->second.based_on.version != message.based_on.version)) {
    forget(at);
    at = known_.end();
  }
  if (at == known_.end()) {
    if (known_.size() >= kMostKnown) return;
    at = known_.emplace(message.key, Known{}).first;
    at->second.based_on = message.based_on;
    rows_[message.based_on.row].messages.emplace(message.based_on.version, message.key);
  }
  at->second.early = false;
  at->second.until = TimePoint::max();
}

std::optional<milliseconds> RowVersions::forgive(const KeyId& key, std::int64_t version) {
  const system::MutexLock lock(mutex_);
  const auto at = known_.find(key);
  if (at == known_.end()) return std::nullopt;
  Known& known = at->second;
  known.early = true;
  const TimePoint now = clock_.now();
  if (known.met != version) {
    known.met = version;
    known.since = now;
    known.waits = 0;
  } else if (now - known.since >= grace_ && !predecessor_waits(known, version)) {
    return std::nullopt;
  }
  const int doublings = std::min(known.waits++, kMostDoublings);
  return std::min(kFirstWait * (1 << doublings), longest_wait_);
}

// One that is early itself waits for another: it alone gives no reason to wait for it.
bool RowVersions::predecessor_waits(const Known& known, std::int64_t version) {
  const TimePoint now = clock_.now();
  const auto& messages = rows_.find(known.based_on.row)->second.messages;
  for (auto at = messages.lower_bound({version, KeyId{}});
       at != messages.end() && at->first < known.based_on.version; ++at) {
    const Known& other = known_.find(at->second)->second;
    if (!other.early && other.until >= now) return true;
  }
  return false;
}

void RowVersions::ended(const KeyId& key, const Outcome& outcome) {
  const system::MutexLock lock(mutex_);
  const auto at = known_.find(key);
  if (at == known_.end()) return;
  if (is_settled(outcome)) return forget(at);
  at->second.until = clock_.now() + std::min(outcome.delay, kLongestDelay) + kOverdue;
}

void RowVersions::forget(std::map<KeyId, Known>::iterator known) {
  const auto row = rows_.find(known->second.based_on.row);
  row->second.messages.erase({known->second.based_on.version, known->first});
  if (row->second.messages.empty() && row->second.tickets.empty()) rows_.erase(row);
  known_.erase(known);
}

void RowVersions::forget_expired() {
  const TimePoint now = clock_.now();
  for (auto at = known_.begin(); at != known_.end();) {
    const auto next = std::next(at);
    if (at->second.until < now) forget(at);
    at = next;
  }
}

std::size_t RowVersions::waiting() const {
  const system::MutexLock lock(mutex_);
  return waiting_;
}

std::size_t RowVersions::known() const {
  const system::MutexLock lock(mutex_);
  return known_.size();
}

}  // namespace semel::strategies
