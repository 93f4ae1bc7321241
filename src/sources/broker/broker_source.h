// BrokerSource: the base of sources of a broker, of which one partition is read.
//
// One thread of the source has the connection, and nobody else touches it: it reads, renews,
// acknowledges, and connects again. The engine's threads meet it at a mutex, which is held over no
// call that waits. A source derives its thread's work, and the ledger in which deliveries wait for
// `receive`; when the thread begins and ends, and what the engine is told, is the same for all.
//
// A source that is paused, or whose messages nobody has room for, is just not received from: its
// prefetch bounds what waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/ack_pace.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::broker {

struct BrokerSourceSetup {
  SourceTraits traits;
  std::string name;        // in messages: "RabbitMQ"
  std::string partition;   // as in its arrivals
  bool follow = true;      // else at_end can become true
  core::AckPace ack_pace;  // of what is settled and not told
  // Deliveries that wait go on while the server is away: it may be what the server waits for.
  bool hands_out_while_away = false;
  Error untold;  // of a close that could not tell all
};

class BrokerSource : public Source {
 public:
  const SourceTraits& traits() const noexcept final { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) final;
  Wakeup wakeup() final;
  void end_intake() noexcept final SEMEL_EXCLUDES(mutex_);
  Result<void> settle(std::span<const Settlement> settlements) final;
  // The thread renews all that is open.
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) final { return {}; }
  void set_paused(std::string_view partition, bool paused) final;
  Result<void> close(std::chrono::milliseconds deadline) final;

 protected:
  using TimePoint = std::chrono::steady_clock::time_point;

  BrokerSource(BrokerSourceSetup setup, Environment& environment);
  // REQUIRES: the thread has ended, by die() or close(). The destructor of a source calls die(),
  // for the thread uses what the source has.
  ~BrokerSource() override = default;
  // As a process that dies: tells nobody anything.
  void die() SEMEL_EXCLUDES(mutex_);

  // The thread's work. Returns when stopping() is true and it has left what it had.
  virtual void run() SEMEL_EXCLUDES(mutex_) = 0;
  // Something is there for the thread. From any thread.
  virtual void wake() noexcept = 0;
  // Ends what the thread waits for, for nobody waits for its answer any more.
  virtual void interrupt() noexcept SEMEL_REQUIRES(mutex_) = 0;

  // The same, after it, where it may wait itself.
  virtual void cut() noexcept SEMEL_EXCLUDES(mutex_) {}

  // The ledger. The next delivery that waits is added to `into`, with its tag, and is out; false:
  // none waits.
  virtual bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) = 0;
  virtual bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) = 0;
  virtual std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) = 0;  // not settled
  // True where it was out.
  virtual bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) = 0;
  virtual std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) = 0;  // settled, and not told
  // After a close.
  virtual bool is_all_told() const noexcept SEMEL_REQUIRES(mutex_) { return all_told_; }

  // For the thread.
  bool stopping() SEMEL_EXCLUDES(mutex_);
  // Waits for so long, or until there is a reason to end.
  void rest(std::chrono::milliseconds time) SEMEL_EXCLUDES(mutex_);
  // The first of them is told for good.
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  // Told until it is reset, or until something is final.
  void set_away(Error error) SEMEL_REQUIRES(mutex_);
  void notice(std::string text) SEMEL_REQUIRES(mutex_);
  // There is nothing more, as of the present changes_.
  void reach_end() SEMEL_REQUIRES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  Environment& environment_;
  system::EventFd event_;   // something is here for `receive`
  core::AckPace ack_pace_;  // the thread's, but for are_many()
  system::Mutex mutex_;
  std::optional<Horizon> horizon_ SEMEL_GUARDED_BY(mutex_);  // found out, and not yet told
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  bool paused_ SEMEL_GUARDED_BY(mutex_) = false;
  std::uint64_t changes_ SEMEL_GUARDED_BY(mutex_) = 0;  // arrivals and settlements
  bool end_wanted_ SEMEL_GUARDED_BY(mutex_) = false;    // the end is asked for
  // Nothing more is asked for: it would only be given back at the close, as one more delivery.
  bool intake_ended_ SEMEL_GUARDED_BY(mutex_) = false;
  bool stop_ SEMEL_GUARDED_BY(mutex_) = false;
  // Until then the thread tells what is settled; none: it dies.
  std::optional<TimePoint> leave_by_ SEMEL_GUARDED_BY(mutex_);
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool all_told_ SEMEL_GUARDED_BY(mutex_) = true;

 private:
  void begin_thread() SEMEL_REQUIRES(mutex_);

  SourceTraits traits_;
  const std::string name_;
  const std::string partition_;
  const bool follow_;
  const bool hands_out_while_away_;
  const Error untold_;
  std::thread thread_;
  bool more_ = false;  // the receiving thread's
  system::CondVar changed_;
  bool paused_all_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_partition_ SEMEL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> end_at_ SEMEL_GUARDED_BY(mutex_);
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::broker
