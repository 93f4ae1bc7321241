// RabbitmqSource: a queue, consumed on one connection.
//
// A thread of its own has the connection, and nobody else touches it: it keeps the heartbeat
// however long handlers take, reads what comes, tells what is settled, and connects again. What has
// come waits in the ledger for `receive`; the prefetch bounds it. A source that is paused, or whose
// messages nobody has room for, is just not received from.
//
// A delivery tag means something on its own channel alone. Each connection is a generation, and a
// tag carries it: what is settled after the connection was lost finds nothing here, comes again and
// meets its record.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/ack_pace.h"
#include "sources/rabbitmq/client.h"
#include "sources/rabbitmq/ledger.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "system/descriptor.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::rabbitmq {

class RabbitmqSource final : public Source, private Client::Watcher {
 public:
  RabbitmqSource(RabbitmqOptions options, Environment& environment);
  // As a process that dies: tells nobody anything.
  ~RabbitmqSource() override;

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The serving thread's.
  void run() SEMEL_EXCLUDES(mutex_);
  void connect() SEMEL_EXCLUDES(mutex_);
  Result<void> begin(Client& client, const core::RabbitmqNode& node) SEMEL_EXCLUDES(mutex_);
  void note_failure(Error error) SEMEL_EXCLUDES(mutex_);
  void pause() SEMEL_EXCLUDES(mutex_);
  void serve();
  // All that is settled, or what is worth a frame by now.
  Result<void> tell(bool all) SEMEL_EXCLUDES(mutex_);
  void wait_for_something() SEMEL_EXCLUDES(mutex_);
  void hand_over() SEMEL_EXCLUDES(mutex_);
  void lose(Error error) SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void on_delivery(std::uint64_t tag, std::unique_ptr<Arrival> arrival) override;
  void on_depth(std::uint32_t messages, std::uint32_t consumers) override;
  void on_blocked(std::optional<std::string> why) override;

  void hand_out(const Ledger::Taken& taken, std::vector<Arrival>& into) const
      SEMEL_REQUIRES(mutex_);
  bool to_ask_now(TimePoint now) const SEMEL_REQUIRES(mutex_);
  bool is_at_end() const SEMEL_REQUIRES(mutex_);
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  void notice(std::string text) SEMEL_REQUIRES(mutex_);

  void cut() SEMEL_REQUIRES(mutex_);
  bool stopping() SEMEL_EXCLUDES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  const RabbitmqOptions options_;
  const core::RabbitmqSpec& spec_;
  Environment& environment_;
  SourceTraits traits_ = kSourceTraits;
  system::EventFd event_;  // something is here for `receive`
  system::EventFd wake_;   // something is there for the thread
  std::thread thread_;

  // The serving thread's.
  std::unique_ptr<Client> client_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<Arrival>>> fresh_;
  std::size_t tries_ = 0;  // to connect, since the last time it worked for some while
  TimePoint connected_at_{};
  std::size_t not_there_ = 0;  // tries that did not find a queue which was there before
  std::string lost_;           // why the last connection ended
  bool told_of_limit_ = false;
  // One acknowledgement for many messages: each is work for the broker, on a quorum queue an entry
  // in its log.
  core::AckPace ack_pace_{static_cast<std::size_t>(spec_.prefetch)};

  // The receiving thread's.
  bool more_ = false;

  system::Mutex mutex_;
  system::CondVar changed_;
  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t generation_ SEMEL_GUARDED_BY(mutex_) = 0;
  // what those of this connection begin with: tags count anew on each
  std::string positions_ SEMEL_GUARDED_BY(mutex_);
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was, at least once
  bool paused_all_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_queue_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  // the connection's socket, to end what waits on it
  system::Descriptor cutter_ SEMEL_GUARDED_BY(mutex_);
  // something was settled that the broker will never be told
  bool in_vain_ SEMEL_GUARDED_BY(mutex_) = false;

  // The end of the queue is asked for: twice, since what is on its way to us stands in no count
  // and comes before the second answer. Whatever happens in between begins it anew.
  std::uint64_t changes_ = 0;  // arrivals and settlements
  bool end_wanted_ = false;
  std::optional<std::uint64_t> asked_at_;
  int empties_ = 0;
  std::optional<std::uint64_t> end_at_;
  TimePoint ask_again_{};

  bool stop_ = false;
  std::optional<TimePoint> leave_by_;
  bool left_ = false;
  bool closed_ = false;
  bool all_told_ = true;
};

}  // namespace semel::rabbitmq
