// BrokerSource: the base of sources that read one partition of a broker.
//
// One thread of the source owns the connection: it reads, renews, acknowledges, and reconnects. It
// shares state with the engine's threads under a mutex, which is not held over any call that waits.
// A derived source implements its thread's work, and the ledger in which deliveries wait for
// `receive`; starting and ending the thread, and reporting to the engine, is the same for all.
//
// A source that is paused, or whose messages find no room, is simply not received from: its
// prefetch bounds how many messages wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/ack_pace.h"
#include "core/stands_aside.h"
#include "system/event_fd.h"
#include "system/mutex.h"
#include "system/stack_thread.h"

namespace semel::broker {

struct BrokerSourceSetup {
  SourceTraits traits;
  std::string name;        // in messages: "RabbitMQ"
  std::string partition;   // for people: "RabbitMQ"
  bool follow = true;      // else at_end can become true
  core::AckPace ack_pace;  // for settlements that are not sent yet
  // Waiting deliveries are still handed out while the server is unavailable: it may be waiting for
  // them.
  bool hands_out_while_away = false;
  Error untold;  // the error of a close that could not send all
};

class BrokerSource : public Source, public core::StandsAside {
 public:
  const SourceTraits& traits() const noexcept final { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) final;
  Wakeup wakeup() final;
  void end_intake() noexcept final SEMEL_EXCLUDES(mutex_);
  Result<void> settle(std::span<const Settlement> settlements) final;
  // The thread renews everything that is open.
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) final { return {}; }
  void set_paused(std::string_view partition, bool paused) final;
  Result<void> close(std::chrono::milliseconds deadline) final;
  void stand_aside(bool aside) noexcept final SEMEL_EXCLUDES(mutex_);

 protected:
  using TimePoint = std::chrono::steady_clock::time_point;

  BrokerSource(BrokerSourceSetup setup, Environment& environment);
  // REQUIRES: the thread has ended, by die() or close(). The destructor of a derived source calls
  // die(), because the thread uses the source's members.
  ~BrokerSource() override = default;
  // Ends like a process that dies: sends nothing.
  void die() SEMEL_EXCLUDES(mutex_);

  // The thread's work. Returns when stopping() is true and it has finished.
  virtual void run() SEMEL_EXCLUDES(mutex_) = 0;
  // Wakes the thread for something new. Thread-safe.
  virtual void wake() noexcept = 0;
  // Ends the thread's waits, because its result is no longer awaited.
  virtual void interrupt() noexcept SEMEL_REQUIRES(mutex_) = 0;

  // Called after interrupt, without the lock; may itself wait.
  virtual void cut() noexcept SEMEL_EXCLUDES(mutex_) {}

  // The ledger. Adds the next waiting delivery to `into`, with its tag, and marks it as out; false:
  // none waits.
  virtual bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) = 0;
  virtual bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) = 0;
  virtual std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) = 0;  // not settled
  // True where it was out.
  virtual bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) = 0;
  virtual std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) = 0;  // settled, not sent yet
  // After a close: whether everything was sent.
  virtual bool is_all_told() const noexcept SEMEL_REQUIRES(mutex_) { return all_told_; }

  // These are for the thread.
  bool stopping() SEMEL_EXCLUDES(mutex_);
  // Then it gives everything back within kLongestWayAside.
  bool stands_aside() SEMEL_EXCLUDES(mutex_);
  static constexpr std::chrono::milliseconds kLongestWayAside{5'000};
  // Waits until it goes on, or until there is a reason to end.
  void wait_aside() SEMEL_EXCLUDES(mutex_);
  // Waits for this long, or until there is a reason to end.
  void rest(std::chrono::milliseconds time) SEMEL_EXCLUDES(mutex_);
  // Sets the final error; the first one is kept.
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  // Reported until it is reset, or until there is a final error.
  void set_away(Error error) SEMEL_REQUIRES(mutex_);
  void notice(std::string text) SEMEL_REQUIRES(mutex_);
  // Nothing more is there, as of the present changes_.
  void reach_end() SEMEL_REQUIRES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  Environment& environment_;
  system::EventFd event_;   // something is there for `receive`
  core::AckPace ack_pace_;  // the thread's, except are_many()
  system::Mutex mutex_;
  std::optional<Horizon> horizon_ SEMEL_GUARDED_BY(mutex_);  // known, and not reported yet
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  bool paused_ SEMEL_GUARDED_BY(mutex_) = false;
  std::uint64_t changes_ SEMEL_GUARDED_BY(mutex_) = 0;  // arrivals and settlements
  bool end_wanted_ SEMEL_GUARDED_BY(mutex_) = false;    // the engine asked for the end
  // Nothing more is requested: it would only be given back at the close, and count as one more
  // delivery.
  bool intake_ended_ SEMEL_GUARDED_BY(mutex_) = false;
  bool aside_ SEMEL_GUARDED_BY(mutex_) = false;  // nothing begins here: others may have it
  // Messages that wait here may be others' by now: the thread is still to forget them.
  bool outdated_ SEMEL_GUARDED_BY(mutex_) = false;
  bool stop_ SEMEL_GUARDED_BY(mutex_) = false;
  // Until then the thread sends settlements; nullopt: it dies.
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
  system::StackThread thread_;
  bool more_ = false;  // used by the receiving thread only
  system::CondVar changed_;
  bool paused_all_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_partition_ SEMEL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> end_at_ SEMEL_GUARDED_BY(mutex_);
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::broker
