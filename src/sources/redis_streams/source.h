// RedisStreamsSource: a stream, read as a member of a consumer group.
//
// Its thread owns the connections: it reads new entries, renews those being handled however long
// handlers take, takes over the entries of dead members, acknowledges settled ones, and reconnects.
//
// After each connect it first asks for entries pending for it: those that an earlier run of its
// name had taken, and those whose answer was lost. An acknowledgement is valid on any connection,
// so a lost connection voids nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "sources/broker/broker_source.h"
#include "sources/redis_streams/client.h"
#include "sources/redis_streams/ledger.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::redis_streams {

class RedisStreamsSource final : public broker::BrokerSource {
 public:
  // `member`: its name in the group.
  RedisStreamsSource(RedisStreamsOptions options, redis::Target target, std::string member,
                     Environment& environment);
  ~RedisStreamsSource() override { die(); }

  std::vector<SourceFigure> figures() override;

 private:
  // Called on the serving thread.
  void run() SEMEL_EXCLUDES(mutex_) override;
  void connect() SEMEL_EXCLUDES(mutex_);
  void note_failure(Error error) SEMEL_EXCLUDES(mutex_);
  void pause() SEMEL_EXCLUDES(mutex_);
  void serve();
  void step();
  // Sends all acknowledgements, or only if they are worth a command by now.
  void acknowledge(bool all) SEMEL_EXCLUDES(mutex_);
  void renew() SEMEL_EXCLUDES(mutex_);
  void list_own() SEMEL_EXCLUDES(mutex_);
  void take_over() SEMEL_EXCLUDES(mutex_);
  void end_sweep() SEMEL_EXCLUDES(mutex_);
  std::chrono::milliseconds between_looks() const;
  void look_at_group() SEMEL_EXCLUDES(mutex_);
  void read() SEMEL_EXCLUDES(mutex_);
  void take_new() SEMEL_EXCLUDES(mutex_);
  void look_for_end() SEMEL_EXCLUDES(mutex_);
  void wait_for_something() SEMEL_EXCLUDES(mutex_);
  void lose(Error error) SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void step_aside() SEMEL_EXCLUDES(mutex_);
  void give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);
  void begin_listing() noexcept;
  void mark_missing(const EntryId& behind, const EntryId& last, const std::vector<EntryId>& there)
      SEMEL_REQUIRES(mutex_);
  void look_after_missing() SEMEL_EXCLUDES(mutex_);

  void add(Entry entry, bool again) SEMEL_REQUIRES(mutex_);
  void wake() noexcept override { wake_.signal(); }
  void interrupt() noexcept SEMEL_REQUIRES(mutex_) override { abort_.signal(); }
  bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) override;
  bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) override {
    return ledger_.has_waiting();
  }
  std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.open(); }
  bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) override;
  std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.untold(); }
  bool is_all_told() const noexcept SEMEL_REQUIRES(mutex_) override {
    return all_told_ && ledger_.waiting_acks() == 0;
  }
  std::size_t remaining() const SEMEL_REQUIRES(mutex_);

  const RedisStreamsOptions options_;
  const core::RedisStreamsSpec& spec_;
  const std::string member_;
  const unsigned database_;
  system::EventFd wake_;   // something is there for the thread
  system::EventFd abort_;  // the server is no longer waited for

  // Used by the serving thread only.
  StreamPlace place_;
  std::unique_ptr<Client> client_;
  std::size_t tries_ = 0;  // attempts to connect, since it last worked for some time
  TimePoint connected_at_{};
  std::string lost_;         // why the last connection ended
  bool listed_ = false;      // all entries that were pending for us are here
  bool list_waits_ = false;  // the listing waits for room
  EntryId listed_to_;
  TimePoint renewed_at_{};
  TimePoint renew_due_{};
  bool sweeping_ = false;
  std::optional<EntryId> swept_to_;
  TimePoint sweep_due_{};
  TimePoint state_due_{};
  TimePoint forget_due_{};
  std::set<std::string> taken_from_;  // in this sweep
  std::size_t taken_over_ = 0;
  std::optional<std::int64_t> missed_;
  std::uint64_t read_began_ = 0;  // value of changes_ when the read began
  std::optional<std::uint64_t> nothing_new_;
  std::optional<TimePoint> ending_since_;
  TimePoint ask_again_{};

  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  // On the server of the last connection; null before the first one.
  std::shared_ptr<const StreamGroup> group_ SEMEL_GUARDED_BY(mutex_);
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was connected at least once
  // nullopt while the server is away.
  std::optional<GroupState> state_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::redis_streams
