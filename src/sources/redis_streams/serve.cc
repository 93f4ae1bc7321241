// The serving thread of the Redis Streams source: its connections, entries and acknowledgements.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/failure.h"
#include "sources/redis_streams/errors.h"
#include "sources/redis_streams/source.h"

namespace semel::redis_streams {

using std::chrono::milliseconds;

namespace {

// Entries of one answer, and ids of one command.
constexpr std::size_t kPage = 100;
constexpr std::size_t kIdsAtOnce = 500;
// How long the server holds a read without entries; a close waits for its end.
constexpr milliseconds kBlock{500};
// While the end is being looked for.
constexpr milliseconds kShortBlock{20};
constexpr milliseconds kAskEndAgain{50};
// The longest time between two looks for dead members: a member that was closed has given back its
// entries without a notification.
constexpr milliseconds kLongestBetweenSweeps{5'000};
// A name made for one run is deleted after this many times `claim_after`.
constexpr int kForgetAfter = 10;
// By then the engine has settled what was acknowledged by a commit.
constexpr milliseconds kHeardOf{1'000};
// A connection that ends sooner counts as failed.
constexpr milliseconds kWorks{5'000};

constexpr EntryId kLastId{std::numeric_limits<std::uint64_t>::max(),
                          std::numeric_limits<std::uint64_t>::max()};

milliseconds until(std::chrono::steady_clock::time_point then,
                   std::chrono::steady_clock::time_point now) {
  return std::max(std::chrono::ceil<milliseconds>(then - now), milliseconds(0));
}

std::vector<EntryId> ids_of(const std::vector<Entry>& entries) {
  std::vector<EntryId> ids;
  ids.reserve(entries.size());
  for (const Entry& entry : entries) ids.push_back(entry.id);
  return ids;
}

// Calls `each` with up to kIdsAtOnce ids at a time.
template <class Each>
void in_parts(const std::vector<EntryId>& ids, Each&& each) {
  for (std::size_t from = 0; from < ids.size(); from += kIdsAtOnce) {
    const std::size_t to = std::min(ids.size(), from + kIdsAtOnce);
    each(std::vector<EntryId>(ids.begin() + static_cast<std::ptrdiff_t>(from),
                              ids.begin() + static_cast<std::ptrdiff_t>(to)));
  }
}

}  // namespace

void RedisStreamsSource::run() {
  while (!stopping()) {
    if (stands_aside()) {
      step_aside();
    } else if (client_) {
      serve();
    } else {
      connect();
    }
  }
  leave();
}

void RedisStreamsSource::connect() {
  bool known = false;
  {
    const system::MutexLock lock(mutex_);
    known = known_;
  }
  auto made = core::contained([&] {
    auto client = std::make_unique<Client>(spec_, member_, place_);
    // A group deleted during the run is not recreated: its start would be undefined.
    if (!known) client->declare();
    return client;
  });
  if (!made) {
    ++tries_;
    note_failure(as_of_source(std::move(made.error())));
    pause();
    return;
  }
  client_ = *std::move(made);
  begin_listing();
  sweeping_ = false;
  sweep_due_ = state_due_ = connected_at_ = now();
  const system::MutexLock lock(mutex_);
  if (!lost_.empty() && !away_) {
    notice(fmt::format("{}; it is there again, and what is in hand goes on", lost_));
  }
  lost_.clear();
  away_.reset();
  ++changes_;
  known_ = true;
  if (!group_ || group_->server != client_->server()) {
    ledger_.another_server();
    group_ = std::make_shared<StreamGroup>(
        StreamGroup{client_->server(), database_, spec_.stream, spec_.group});
  }
  event_.signal();
}

void RedisStreamsSource::begin_listing() noexcept {
  listed_ = false;
  list_waits_ = false;
  listed_to_ = {};
  renewed_at_ = now();
}

void RedisStreamsSource::note_failure(Error error) {
  const system::MutexLock lock(mutex_);
  if (stop_) return;
  if (is_final(error)) return set_final(std::move(error));
  if (!away_) set_away(std::move(error));
}

void RedisStreamsSource::pause() { rest(pause_before(tries_, environment_.random->next())); }

void RedisStreamsSource::serve() {
  auto well = core::contained([this] { step(); });
  if (well) return;
  lose(as_of_source(std::move(well.error())));
  tries_ = now() - connected_at_ < kWorks ? tries_ + 1 : 0;
  pause();
}

void RedisStreamsSource::step() {
  look_after_missing();
  acknowledge(false);
  renew();
  if (listed_) {
    take_over();
  } else {
    list_own();
  }
  look_at_group();
  read();
  look_for_end();
  wait_for_something();
  take_new();
}

void RedisStreamsSource::acknowledge(bool all) {
  for (;;) {
    std::vector<EntryId> ids;
    {
      const system::MutexLock lock(mutex_);
      if (!all && !ack_pace_.are_due(ledger_.untold(), now())) return;
      ledger_.forget_gone();
      ids = ledger_.acks(kIdsAtOnce);
    }
    if (ids.empty()) return;
    client_->acknowledge(ids);
    const system::MutexLock lock(mutex_);
    ledger_.acknowledged(ids);
  }
}

// After a long pause others may have taken entries over: asks the server which are still ours, and
// takes none back.
void RedisStreamsSource::renew() {
  if ((!listed_ && !list_waits_) || now() < renew_due_) return;
  if (now() - renewed_at_ >= spec_.claim_after) return begin_listing();
  const TimePoint began = now();
  std::vector<EntryId> ids;
  {
    const system::MutexLock lock(mutex_);
    ids = ledger_.ours();
  }
  EntryId behind;
  in_parts(ids, [&](const std::vector<EntryId>& part) {
    const std::vector<EntryId> there = client_->renew(part);
    const system::MutexLock lock(mutex_);
    mark_missing(behind, part.back(), there);
    behind = part.back();
  });
  renewed_at_ = began;
  renew_due_ = began + spec_.claim_after / 3;
}

void RedisStreamsSource::mark_missing(const EntryId& behind, const EntryId& last,
                                      const std::vector<EntryId>& there) {
  ledger_.only_ours(behind, last, there, now() + kHeardOf);
}

void RedisStreamsSource::look_after_missing() {
  const system::MutexLock lock(mutex_);
  ledger_.lose_missing(now());
  const std::size_t lost = ledger_.take_lost();
  if (lost == 0) return;
  notice(fmt::format(
      "{} entries of {} that are in hand are no longer pending for {}: another member has taken "
      "them over, the stream was trimmed, or the member was deleted; they are handled, and their "
      "records decide",
      lost, spec_.stream, member_));
}

void RedisStreamsSource::list_own() {
  std::size_t most = 0;
  {
    const system::MutexLock lock(mutex_);
    most = std::min(kPage, remaining() + ledger_.ours_behind(listed_to_));
  }
  if (most == 0) {
    // All entries here were asked for: they are renewed meanwhile.
    if (!std::exchange(list_waits_, true)) renew_due_ = now();
    return;
  }
  list_waits_ = false;
  std::vector<Entry> page = client_->own_behind(listed_to_, most);
  const bool last = page.size() < most;
  const EntryId to = last ? kLastId : page.back().id;
  const std::vector<EntryId> there = ids_of(page);
  {
    const system::MutexLock lock(mutex_);
    mark_missing(listed_to_, to, there);
    // A process of this name had them, and may have died of one.
    for (Entry& entry : page) add(std::move(entry), true);
  }
  listed_to_ = to;
  if (!last) return;
  listed_ = true;
  renew_due_ = now();
}

// An entry without data is not renewed: the server would drop it before its end is recorded.
void RedisStreamsSource::add(Entry entry, bool again) {
  const bool whole = entry.arrival != nullptr;
  if (!whole) entry.arrival = arrival_without_data(entry.id, spec_.stream);
  entry.arrival->suspect = again && whole;
  if (!ledger_.arrived(entry.id, std::move(entry.arrival), whole)) return;
  ++changes_;
  event_.signal();
}

void RedisStreamsSource::take_over() {
  if (!sweeping_ && now() < sweep_due_) return;
  std::size_t most = 0;
  {
    const system::MutexLock lock(mutex_);
    most = std::min(kPage, remaining());
  }
  if (most == 0) return;  // continues once there is room, before new entries are read
  if (!std::exchange(sweeping_, true)) {
    swept_to_.reset();
    taken_from_.clear();
    taken_over_ = 0;
  }
  const std::vector<Client::Idle> idle = client_->idle_behind(swept_to_, most);
  std::vector<EntryId> ids;
  {
    const system::MutexLock lock(mutex_);
    for (const Client::Idle& one : idle) {
      if (one.member == member_ || ledger_.knows(one.id)) continue;
      ids.push_back(one.id);
      taken_from_.insert(one.member);
    }
  }
  std::vector<Entry> taken = client_->take_over(ids);
  {
    const system::MutexLock lock(mutex_);
    taken_over_ += taken.size();
    for (Entry& entry : taken) add(std::move(entry), true);
  }
  if (idle.size() == most) {
    swept_to_ = idle.back().id;
  } else {
    end_sweep();
  }
}

milliseconds RedisStreamsSource::between_looks() const {
  return std::min(spec_.claim_after / 3, kLongestBetweenSweeps);
}

void RedisStreamsSource::end_sweep() {
  sweeping_ = false;
  sweep_due_ = now() + between_looks();
  if (now() >= forget_due_) {
    forget_due_ = now() + kForgetAfter * spec_.claim_after;
    client_->forget_members(kForgetAfter * spec_.claim_after);
  }
  const system::MutexLock lock(mutex_);
  if (taken_over_ > 0) {
    notice(fmt::format("took over {} entries of {} that were pending for {}", taken_over_,
                       spec_.stream, fmt::join(taken_from_, ", ")));
  }
}

// Without room for entries too: a source that is paused tells how much waits.
void RedisStreamsSource::look_at_group() {
  if (now() < state_due_) return;
  state_due_ = now() + between_looks();
  const GroupState state = client_->state();
  // The first time, with nothing unread: an earlier run may have reported the entries that the
  // group has passed already.
  const std::int64_t before = missed_.value_or(state.unread == 0 ? state.missed : 0);
  missed_ = state.missed;
  const system::MutexLock lock(mutex_);
  state_ = state;
  if (state.missed > before) {
    notice(fmt::format(
        "{} entries of {} were trimmed or deleted before the group {} had read them: they are "
        "lost here; let the stream keep more, or read it with more members",
        state.missed - before, spec_.stream, spec_.group));
  }
}

void RedisStreamsSource::read() {
  // A sweep that is due comes first.
  if (!listed_ || sweeping_ || now() >= sweep_due_ || client_->reading()) return;
  std::size_t most = 0;
  {
    const system::MutexLock lock(mutex_);
    if (stop_) return;
    most = std::min(kPage, remaining());
    read_began_ = changes_;
  }
  if (most > 0) client_->begin_read(most, options_.follow ? kBlock : kShortBlock, now());
}

void RedisStreamsSource::take_new() {
  if (!client_->reading()) return;
  auto entries = client_->take_read(now());
  if (!entries) return;
  const system::MutexLock lock(mutex_);
  if (entries->empty()) nothing_new_ = read_began_;
  for (Entry& entry : *entries) add(std::move(entry), false);
}

// Waits for entries of dead members, as long as such a member may be silent; entries of live
// members are theirs.
void RedisStreamsSource::look_for_end() {
  std::uint64_t at = 0;
  bool all_out = false;
  {
    const system::MutexLock lock(mutex_);
    if (!end_wanted_ || !listed_ || now() < ask_again_) return;
    if (ledger_.has_waiting() || ledger_.untold() > 0) return;
    all_out = ledger_.open() >= static_cast<std::size_t>(spec_.prefetch);
    if (!all_out && (sweeping_ || nothing_new_ != changes_)) return;
    at = changes_;
  }
  if (!all_out && client_->pending_for_others() > 0) {
    if (!ending_since_) ending_since_ = now();
    const milliseconds longest = spec_.claim_after + kLongestBetweenSweeps;
    if (now() - *ending_since_ < longest) {
      ask_again_ = now() + kAskEndAgain;
      return;
    }
  }
  const system::MutexLock lock(mutex_);
  if (at == changes_) reach_end();
}

void RedisStreamsSource::wait_for_something() {
  const TimePoint time = now();
  milliseconds patience = kBlock;
  if (listed_ || list_waits_) patience = std::min(patience, until(renew_due_, time));
  {
    const system::MutexLock lock(mutex_);
    if (stop_) return;
    const bool can_list = !listed_ && remaining() + ledger_.ours_behind(listed_to_) > 0;
    const bool can_sweep = listed_ && remaining() > 0 && (sweeping_ || time >= sweep_due_);
    if (can_list || can_sweep) patience = milliseconds(0);
    if (const auto due = ack_pace_.due()) patience = std::min(patience, until(*due, time));
    if (end_wanted_) patience = std::min(patience, kAskEndAgain);
  }
  // A due one waits for room.
  if (listed_ && time < sweep_due_) patience = std::min(patience, until(sweep_due_, time));
  // Readable when an answer comes; without a read it reports only the connection's end.
  std::array<pollfd, 2> both{{{wake_.get(), POLLIN, 0}, {client_->descriptor(), POLLIN, 0}}};
  const nfds_t count = client_->reading() ? both.size() : 1;
  ::poll(both.data(), count, static_cast<int>(patience.count()));
  wake_.drain();
}

void RedisStreamsSource::lose(Error error) {
  client_.reset();
  ack_pace_.forget();
  nothing_new_.reset();
  const system::MutexLock lock(mutex_);
  ++changes_;
  state_.reset();
  if (stop_) return;
  if (is_final(error)) return set_final(std::move(error));
  lost_ = error.message;
}

void RedisStreamsSource::leave() {
  TimePoint by;
  {
    const system::MutexLock lock(mutex_);
    by = leave_by_.value_or(TimePoint{});
  }
  if (!client_ || by == TimePoint{}) return client_.reset();
  const auto told = core::contained([&] {
    // Before anything whose answer may come too late.
    acknowledge(true);
    give_back(by);
  });
  client_.reset();
  const system::MutexLock lock(mutex_);
  all_told_ = told.has_value();
}

// Others take over what is given back. Entries that were handed out stay here too: they are
// acknowledged where they end, whoever has them.
void RedisStreamsSource::step_aside() {
  {
    const system::MutexLock lock(mutex_);
    outdated_ = true;
  }
  if (client_) {
    (void)core::contained([this] {
      acknowledge(true);
      give_back(now() + kLongestWayAside);
    });
    lose({ErrorKind::kUnavailable, {}, {}, {}});
  }
  wait_aside();
  {
    const system::MutexLock lock(mutex_);
    ledger_.forget_waiting();
    outdated_ = false;
  }
  event_.signal();
}

void RedisStreamsSource::give_back(TimePoint by) {
  // The last read may still deliver entries.
  while (client_->reading() && now() < by) {
    pollfd one{client_->descriptor(), POLLIN, 0};
    ::poll(&one, 1, static_cast<int>(until(by, now()).count()));
    take_new();
  }
  acknowledge(true);
  std::vector<EntryId> ids;
  {
    const system::MutexLock lock(mutex_);
    ids = ledger_.ours();
  }
  in_parts(ids, [&](const std::vector<EntryId>& part) { client_->give_back(part); });
  // Unless entries are pending for it, which another member then takes over.
  client_->forget_this_member();
}

}  // namespace semel::redis_streams
