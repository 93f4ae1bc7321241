// RedisStreamsSource: a stream, read as a member of a consumer group.
//
// A thread of its own has the connections, and nobody else touches them: it reads what is new,
// renews what is in hand however long handlers take, takes over what members that died had in hand,
// acknowledges what is settled, and connects again. Entries wait in the ledger for
// `receive`; the prefetch bounds it.
//
// After each connect it asks first for what is pending for it already: what an earlier run of its
// name had in hand, and what a lost answer would have told. An acknowledgement is good on any
// connection, so nothing that is in hand is void when one is lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/ack_pace.h"
#include "sources/redis_streams/client.h"
#include "sources/redis_streams/ledger.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::redis_streams {

class RedisStreamsSource final : public Source {
 public:
  // `member`: its name in the group.
  RedisStreamsSource(RedisStreamsOptions options, redis::Target target, std::string member,
                     Environment& environment);
  // As a process that dies: tells nobody anything.
  ~RedisStreamsSource() override;

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  // The serving thread renews all that is in hand.
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  std::vector<SourceFigure> figures() override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The serving thread's.
  void run() SEMEL_EXCLUDES(mutex_);
  void connect() SEMEL_EXCLUDES(mutex_);
  void note_failure(Error error) SEMEL_EXCLUDES(mutex_);
  void pause() SEMEL_EXCLUDES(mutex_);
  void serve();
  void step();
  // All that is settled, or what is worth a command by now.
  void acknowledge(bool all) SEMEL_EXCLUDES(mutex_);
  void renew() SEMEL_EXCLUDES(mutex_);
  void list_own() SEMEL_EXCLUDES(mutex_);
  void take_over() SEMEL_EXCLUDES(mutex_);
  void end_sweep() SEMEL_EXCLUDES(mutex_);
  void read() SEMEL_EXCLUDES(mutex_);
  void take_new() SEMEL_EXCLUDES(mutex_);
  void look_for_end() SEMEL_EXCLUDES(mutex_);
  void wait_for_something() SEMEL_EXCLUDES(mutex_);
  void lose(Error error) SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);
  void begin_listing() noexcept;
  void tell_of_lost(std::size_t lost) SEMEL_REQUIRES(mutex_);

  void add(Entry entry, bool taken_over) SEMEL_REQUIRES(mutex_);
  void hand_out(const Ledger::Taken& taken, std::vector<Arrival>& into) const
      SEMEL_REQUIRES(mutex_);
  std::size_t room() const SEMEL_REQUIRES(mutex_);
  bool is_at_end() const SEMEL_REQUIRES(mutex_);
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  void notice(std::string text) SEMEL_REQUIRES(mutex_);
  bool stopping() SEMEL_EXCLUDES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  const RedisStreamsOptions options_;
  const core::RedisStreamsSpec& spec_;
  const std::string member_;
  Environment& environment_;
  SourceTraits traits_ = kSourceTraits;
  system::EventFd event_;  // something is here for `receive`
  system::EventFd wake_;   // something is there for the thread
  system::EventFd abort_;  // nobody waits for the server any more
  std::thread thread_;

  // The serving thread's.
  StreamPlace place_;
  std::unique_ptr<Client> client_;
  std::size_t tries_ = 0;  // to connect, since the last time it worked for some while
  TimePoint connected_at_{};
  std::string lost_;  // why the last connection ended
  core::AckPace ack_pace_{static_cast<std::size_t>(spec_.prefetch)};
  bool listed_ = false;      // all that was pending for us is in hand
  bool list_waits_ = false;  // for room
  EntryId listed_to_;
  TimePoint renewed_at_{};
  TimePoint renew_due_{};
  bool sweeping_ = false;
  std::optional<EntryId> swept_to_;
  TimePoint sweep_due_{};
  TimePoint forget_due_{};
  std::set<std::string> taken_from_;  // by this sweep
  std::size_t taken_over_ = 0;
  std::optional<std::int64_t> missed_;
  std::uint64_t read_began_ = 0;  // at which of the changes
  std::optional<std::uint64_t> nothing_new_;
  std::optional<TimePoint> ending_since_;
  TimePoint ask_again_{};

  // The receiving thread's.
  bool more_ = false;

  system::Mutex mutex_;
  system::CondVar changed_;
  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was, at least once
  bool paused_all_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_stream_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  std::optional<GroupState> state_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t changes_ SEMEL_GUARDED_BY(mutex_) = 0;  // arrivals and settlements
  bool end_wanted_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> end_at_ SEMEL_GUARDED_BY(mutex_);
  bool stop_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<TimePoint> leave_by_ SEMEL_GUARDED_BY(mutex_);
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool all_told_ SEMEL_GUARDED_BY(mutex_) = true;
};

}  // namespace semel::redis_streams
