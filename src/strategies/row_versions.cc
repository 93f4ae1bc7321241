#include "strategies/row_versions.h"

#include <algorithm>
#include <iterator>

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

// An early message is tried again soon at first: most predecessors are done within a batch's time.
constexpr milliseconds kFirstWait{50};
// A row that moves may become faster, and a row that rests may begin to move. At most half of the
// grace: otherwise the row's next message could let the grace of later messages pass.
constexpr milliseconds kLongestSoon{500};
// A predecessor in this process recalls a kept message when it ends, so a longer wait costs little.
constexpr milliseconds kLongestKept{2'000};
// A wait is this fraction of the time that the row needs. If every message waited for all of it, no
// message could ever be faster than the pace that they measure.
constexpr int kPartOfPace = 2;
// A look at a row is too old after the first time for the message that may be next, which then
// looks again, and after the second time for every message.
constexpr milliseconds kFresh{250};
constexpr milliseconds kOld{1'000};
// A message that was due this long ago and did not come has ended elsewhere.
constexpr std::chrono::minutes kOverdue{1};
// A handler may ask for any delay.
constexpr milliseconds kLongestDelay = std::chrono::hours(24);
// Pause between two searches for messages to forget.
constexpr milliseconds kForgetPause{1'000};

bool is_settled(const Outcome& outcome) {
  return outcome.kind != Outcome::Kind::kRetry && outcome.kind != Outcome::Kind::kBusy;
}

// True if the row has a newer version than the message is based on.
bool is_past(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::kDone || outcome.kind == Outcome::Kind::kDuplicate;
}

}  // namespace

RowVersions::RowVersions(Clock& clock, milliseconds grace, milliseconds longest_wait,
                         std::size_t most_known)
    : clock_(clock),
      grace_(grace),
      longest_wait_(longest_wait),
      most_known_(most_known),
      soon_(std::min(std::clamp(grace / 2, kFirstWait, kLongestSoon), longest_wait)) {}

RowVersions::Turn RowVersions::take_turn(std::span<const VersionedMessage> messages) {
  std::vector<LockName> rows;
  for (const VersionedMessage& message : messages) rows.push_back(message.based_on.row);
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const system::MutexLock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  if (known_.size() + messages.size() > most_known_) forget_expired();
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
    if (known_.size() >= most_known_) return;
    at = known_.emplace(message.key, Known{}).first;
    at->second.based_on = message.based_on;
    rows_[message.based_on.row].messages.emplace(message.based_on.version, message.key);
  }
  set_kept(at->second, false);
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
  rows_.find(known.based_on.row)->second.pace.saw(version, now);
  if (known.met != version) {
    known.met = version;
    known.since = now;
    known.wait = by_pace(known, soon_);
    return known.wait;
  }
  const auto longest = longest_wait_for(known, version);
  if (!longest) return std::nullopt;
  known.wait = std::min(std::max(known.wait * 2, kFirstWait), *longest);
  return known.wait;
}

milliseconds RowVersions::by_pace(const Known& known, milliseconds longest) {
  const auto left =
      rows_.find(known.based_on.row)->second.pace.time_to(known.based_on.version, clock_.now());
  if (!left) return std::min(kFirstWait, longest);
  const auto part = std::chrono::duration_cast<milliseconds>(*left / kPartOfPace);
  return std::min(std::max(part, kFirstWait), longest);
}

// True if no earlier message of the row is in flight or kept in this process. Messages in other
// processes cannot be waited for.
bool RowVersions::is_next_here(const Known& known) {
  const Row& row = rows_.find(known.based_on.row)->second;
  for (const auto& [version, key] : row.messages) {
    if (version >= known.based_on.version) break;
    const Known& other = known_.find(key)->second;
    if (other.kept || other.until == TimePoint::max()) return false;
  }
  return true;
}

std::optional<milliseconds> RowVersions::foresee(const KeyId& key) {
  const system::MutexLock lock(mutex_);
  const auto at = known_.find(key);
  if (at == known_.end()) return std::nullopt;
  Known& known = at->second;
  const RowPace& pace = rows_.find(known.based_on.row)->second.pace;
  const TimePoint now = clock_.now();
  if (!pace.is_behind(known.based_on.version) || pace.rests(now)) return std::nullopt;
  const bool next = is_next_here(known);
  // The slower the rows of a busy store change, the less another check finds.
  const auto fresh = std::max<std::chrono::nanoseconds>(next ? kFresh : kOld, pace.step_time());
  if (now - pace.looked() > fresh) return std::nullopt;
  const milliseconds wait = by_pace(known, std::min(kLongestKept, longest_wait_));
  if (next && wait <= kFirstWait) return std::nullopt;
  known.early = true;
  return next ? wait : std::max(wait, soon_);
}

bool RowVersions::is_behind(const KeyId& key) const {
  const system::MutexLock lock(mutex_);
  const auto at = known_.find(key);
  if (at == known_.end()) return false;
  const RowVersion& based_on = at->second.based_on;
  return rows_.find(based_on.row)->second.pace.is_behind(based_on.version);
}

// The longest wait for a row that does not move; nullopt if this attempt counts. A predecessor that
// is early itself is no reason to wait, because it waits for another one. The next message was
// early when it was last tried, but no longer once the row has its version.
std::optional<milliseconds> RowVersions::longest_wait_for(const Known& known,
                                                          std::int64_t version) {
  const TimePoint now = clock_.now();
  const auto& messages = rows_.find(known.based_on.row)->second.messages;
  for (auto at = messages.lower_bound({version, KeyId{}});
       at != messages.end() && at->first < known.based_on.version; ++at) {
    const Known& other = known_.find(at->second)->second;
    const bool early = other.early && at->first > version;
    if (early || other.until < now) continue;
    // A message in flight may end at any time; one that waits for its next attempt may do so for
    // hours.
    const bool in_hand = other.until == TimePoint::max();
    return in_hand ? soon_ : longest_wait_;
  }
  if (now - known.since >= grace_) return std::nullopt;
  return soon_;
}

std::optional<LockName> RowVersions::ended(const KeyId& key, const Outcome& outcome) {
  const system::MutexLock lock(mutex_);
  const auto at = known_.find(key);
  if (at == known_.end()) return std::nullopt;
  Known& known = at->second;
  if (!is_settled(outcome)) {
    set_kept(known, outcome.settle == Outcome::Settle::kKeep);
    known.until = clock_.now() + std::min(outcome.delay, kLongestDelay) + kOverdue;
    return std::nullopt;
  }
  std::optional<LockName> waited_for;
  if (is_past(outcome)) {
    Row& row = rows_.find(known.based_on.row)->second;
    row.pace.passed(known.based_on.version, clock_.now());
    if (row.kept > 0) waited_for = known.based_on.row;
  }
  forget(at);
  return waited_for;
}

void RowVersions::set_kept(Known& known, bool kept) {
  if (known.kept == kept) return;
  std::size_t& all = rows_.find(known.based_on.row)->second.kept;
  kept ? ++all : --all;
  known.kept = kept;
}

void RowVersions::forget(std::map<KeyId, Known>::iterator known) {
  set_kept(known->second, false);
  const auto row = rows_.find(known->second.based_on.row);
  row->second.messages.erase({known->second.based_on.version, known->first});
  if (row->second.messages.empty() && row->second.tickets.empty()) rows_.erase(row);
  known_.erase(known);
}

void RowVersions::forget_expired() {
  const TimePoint now = clock_.now();
  if (now <= expires_) return;
  // A message that ends from now on does not expire sooner.
  expires_ = now + kOverdue;
  for (auto at = known_.begin(); at != known_.end();) {
    const auto next = std::next(at);
    if (at->second.until < now) {
      forget(at);
    } else {
      expires_ = std::min(expires_, at->second.until);
    }
    at = next;
  }
  expires_ = std::max(expires_, now + kForgetPause);
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
