// RowVersions: what a process knows of the row versions that its messages are based on
// (optimistic_lock).
//
// A message is early if its business row still has an older version. That is no failure of the
// message while a message that raises the version is in flight, or waits for its next attempt.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/key.h>
#include <semel/outcome.h>
#include <semel/spi/recorded_statement.h>

#include "strategies/row_pace.h"
#include "system/mutex.h"

namespace semel::strategies {

// A message, by its key, and the version that it is based on.
struct VersionedMessage {
  KeyId key;
  RowVersion based_on;
};

// Thread-safe.
class RowVersions {
 public:
  static constexpr std::size_t kMostKnown = 100'000;

  // `grace`: how long a row may keep its version before an early message's attempts count.
  // `longest_wait`: the longest time between two attempts that do not count. `clock` is borrowed.
  // Messages beyond `most_known` are not remembered, and an early version counts as an attempt.
  RowVersions(Clock& clock, std::chrono::milliseconds grace, std::chrono::milliseconds longest_wait,
              std::size_t most_known = kMostKnown);

  // A batch's turn with the rows of its messages. Its end lets the next batch run.
  class [[nodiscard]] Turn {
   public:
    Turn(RowVersions& versions, std::uint64_t ticket, std::vector<LockName> rows)
        : versions_(versions), ticket_(ticket), rows_(std::move(rows)) {}
    ~Turn() { versions_.end_turn(ticket_, rows_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    RowVersions& versions_;
    const std::uint64_t ticket_;
    const std::vector<LockName> rows_;
  };

  // Waits for earlier batches that have one of these rows: two batches about one row run one after
  // the other, so that the versions of the second are not early.
  Turn take_turn(std::span<const VersionedMessage> messages) SEMEL_EXCLUDES(mutex_);

  // The message of this key is early for a row that has `version`. Returns how long to wait before
  // the next attempt if this one does not count: the row got that version within the grace, or
  // another message that may raise it is not settled yet. A row that this process sees for the
  // first time counts as changed now. The wait follows the row's pace, or is longer than the
  // previous one if the row does not move.
  std::optional<std::chrono::milliseconds> forgive(const KeyId& key, std::int64_t version)
      SEMEL_EXCLUDES(mutex_);

  // Returns how long to wait where an attempt at this message would be useless: the row was looked
  // at a moment ago, and either an earlier message waits here too, or the row does not move that
  // fast. This is no attempt, and does not change which attempts count.
  std::optional<std::chrono::milliseconds> foresee(const KeyId& key) SEMEL_EXCLUDES(mutex_);

  // Whether the row of this message had an older version when it was last seen.
  bool is_behind(const KeyId& key) const SEMEL_EXCLUDES(mutex_);

  // Notes how a message of a turn ended. Returns its row if that has moved and messages kept here
  // wait for it.
  std::optional<LockName> ended(const KeyId& key, const Outcome& outcome) SEMEL_EXCLUDES(mutex_);

  // The batches that wait for their turn, and the messages that are remembered.
  std::size_t waiting() const SEMEL_EXCLUDES(mutex_);
  std::size_t known() const SEMEL_EXCLUDES(mutex_);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Known {
    RowVersion based_on;
    bool early = false;                 // at its last attempt, or foreseen to be
    bool kept = false;                  // in this process, since it was foreseen
    std::optional<std::int64_t> met;    // the row's version at that time
    TimePoint since;                    // when it was first met
    std::chrono::milliseconds wait{0};  // the last one, since then
    TimePoint until = TimePoint::max();
  };
  struct Row {
    std::deque<std::uint64_t> tickets;                  // the first has the turn
    std::set<std::pair<std::int64_t, KeyId>> messages;  // by version
    std::size_t kept = 0;                               // number of kept ones
    RowPace pace;
  };

  void end_turn(std::uint64_t ticket, const std::vector<LockName>& rows) SEMEL_EXCLUDES(mutex_);
  void remember(const VersionedMessage& message) SEMEL_REQUIRES(mutex_);
  std::optional<std::chrono::milliseconds> longest_wait_for(const Known& known,
                                                            std::int64_t version)
      SEMEL_REQUIRES(mutex_);
  std::chrono::milliseconds by_pace(const Known& known, std::chrono::milliseconds longest)
      SEMEL_REQUIRES(mutex_);
  bool is_next_here(const Known& known) SEMEL_REQUIRES(mutex_);
  void set_kept(Known& known, bool kept) SEMEL_REQUIRES(mutex_);
  void forget(std::map<KeyId, Known>::iterator known) SEMEL_REQUIRES(mutex_);
  void forget_expired() SEMEL_REQUIRES(mutex_);

  Clock& clock_;
  const std::chrono::milliseconds grace_;
  const std::chrono::milliseconds longest_wait_;
  const std::size_t most_known_;
  const std::chrono::milliseconds soon_;  // the longest wait for events that may happen at any time
  mutable system::Mutex mutex_;
  system::CondVar turned_;
  std::uint64_t next_ticket_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::map<LockName, Row> rows_ SEMEL_GUARDED_BY(mutex_);
  std::map<KeyId, Known> known_ SEMEL_GUARDED_BY(mutex_);
  TimePoint expires_ SEMEL_GUARDED_BY(mutex_) = TimePoint::min();  // no message expires before this
};

// Items about one row keep their places as a group, and are ordered within it by their versions.
// `version_of` returns a pointer to an item's RowVersion, or null.
template <class Item, class VersionOf>
void sort_by_version(std::vector<Item>& items, VersionOf version_of) {
  std::map<LockName, std::vector<std::size_t>> rows;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (const RowVersion* const version = version_of(items[at])) rows[version->row].push_back(at);
  }
  for (const auto& [row, places] : rows) {
    if (places.size() < 2) continue;
    std::vector<Item> group;
    for (const std::size_t at : places) group.push_back(items[at]);
    std::ranges::stable_sort(group, {},
                             [&](const Item& item) { return version_of(item)->version; });
    for (std::size_t i = 0; i < places.size(); ++i) items[places[i]] = group[i];
  }
}

}  // namespace semel::strategies
