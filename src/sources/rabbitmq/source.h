// RabbitmqSource: a queue, consumed on one connection.
//
// Its thread owns the connection: it keeps the heartbeat however long handlers take, reads
// deliveries, sends acknowledgements, and reconnects. One acknowledgement covers many messages,
// because each is work for the broker, on a quorum queue an entry in its log.
//
// A delivery tag is valid only on its own channel. Each connection is a generation, which is in a
// tag: a settlement after the connection was lost finds nothing here, comes again and meets its
// record.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "sources/broker/broker_source.h"
#include "sources/rabbitmq/client.h"
#include "sources/rabbitmq/ledger.h"
#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "system/descriptor.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::rabbitmq {

class RabbitmqSource final : public broker::BrokerSource, private Client::Watcher {
 public:
  RabbitmqSource(RabbitmqOptions options, Environment& environment);
  ~RabbitmqSource() override { die(); }

 private:
  // Called on the serving thread.
  void run() SEMEL_EXCLUDES(mutex_) override;
  void connect() SEMEL_EXCLUDES(mutex_);
  Result<void> begin(Client& client, const core::RabbitmqNode& node) SEMEL_EXCLUDES(mutex_);
  void note_failure(Error error) SEMEL_EXCLUDES(mutex_);
  void pause() SEMEL_EXCLUDES(mutex_);
  void serve();
  // Sends all acknowledgements, or only if they are worth a frame by now.
  Result<void> tell(bool all) SEMEL_EXCLUDES(mutex_);
  void wait_for_something() SEMEL_EXCLUDES(mutex_);
  void hand_over() SEMEL_EXCLUDES(mutex_);
  void lose(Error error) SEMEL_EXCLUDES(mutex_);
  bool part(TimePoint by) SEMEL_EXCLUDES(mutex_);
  void step_aside() SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void on_delivery(std::uint64_t tag, std::unique_ptr<Arrival> arrival) override;
  void on_depth(std::uint32_t messages, std::uint32_t consumers) override;
  void on_blocked(std::optional<std::string> why) override;

  void wake() noexcept override { wake_.signal(); }
  void interrupt() noexcept SEMEL_REQUIRES(mutex_) override;
  bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) override;
  bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) override {
    return ledger_.has_waiting();
  }
  std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.open(); }
  bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) override;
  std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.acks(); }
  bool to_ask_now(TimePoint now) const SEMEL_REQUIRES(mutex_);

  const RabbitmqOptions options_;
  const core::RabbitmqSpec& spec_;
  system::EventFd wake_;  // something is there for the thread

  // Used by the serving thread only.
  std::unique_ptr<Client> client_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<Arrival>>> fresh_;
  std::size_t tries_ = 0;  // attempts to connect, since it last worked for some time
  TimePoint connected_at_{};
  std::size_t not_there_ = 0;  // attempts that did not find a queue that existed before
  std::string lost_;           // why the last connection ended
  bool told_of_limit_ = false;

  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t generation_ SEMEL_GUARDED_BY(mutex_) = 0;
  // the beginning of this connection's positions: tags restart on each
  std::string positions_ SEMEL_GUARDED_BY(mutex_);
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was connected at least once
  // the connection's socket, to end calls that wait on it
  system::Descriptor cutter_ SEMEL_GUARDED_BY(mutex_);
  // a settlement can no longer be sent
  bool in_vain_ SEMEL_GUARDED_BY(mutex_) = false;

  // The end of the queue was asked for: twice, because messages in transit are in no count but
  // arrive before the second answer. Any event in between restarts it.
  std::optional<std::uint64_t> asked_at_ SEMEL_GUARDED_BY(mutex_);
  int empties_ SEMEL_GUARDED_BY(mutex_) = 0;
  TimePoint ask_again_ SEMEL_GUARDED_BY(mutex_){};
};

}  // namespace semel::rabbitmq
