// NatsSource: a durable consumer of a stream, pulled from on one connection.
//
// Its thread owns the connection: it requests messages as there is room, sends acknowledgements,
// renews deliveries being handled, and reconnects.
//
// The server takes a late acknowledgement for the redelivery that came after it, so
// acknowledgements fence nothing: one is sent only for a message that has its record. Each
// connection is a generation, which is in a tag: a settlement after the connection was lost finds
// nothing here, comes again and meets its record. A consumer that was recreated under its name ends
// the connection: its messages have the same sequence numbers as others that are settled here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/ack_pace.h"
#include "sources/broker/broker_source.h"
#include "sources/nats/client.h"
#include "sources/nats/ledger.h"
#include "sources/nats/make_nats_source.h"
#include "sources/nats/requests.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::nats {

class NatsSource final : public broker::BrokerSource, private Client::Watcher {
 public:
  NatsSource(NatsOptions options, Environment& environment);
  ~NatsSource() override { die(); }

  std::vector<SourceFigure> figures() override;

 private:
  // The work that is due now.
  struct Work {
    std::vector<std::string> acks;
    std::vector<std::string> renewals;
    std::size_t messages = 0;  // to request
    std::uint64_t request = 0;
    std::chrono::milliseconds request_lasts{0};
    bool look = false;
    bool question_of_end = false;
    std::optional<Error> lost;
  };

  // Called on the serving thread; in serve.cc.
  void run() SEMEL_EXCLUDES(mutex_) override;
  void connect() SEMEL_EXCLUDES(mutex_);
  Result<ConsumerState> begin(Client& client, const core::NatsNode& node) SEMEL_EXCLUDES(mutex_);
  void note_connected(const ConsumerState& state) SEMEL_EXCLUDES(mutex_);
  void note_failure(Error error) SEMEL_EXCLUDES(mutex_);
  void pause() SEMEL_EXCLUDES(mutex_);
  void serve() SEMEL_EXCLUDES(mutex_);
  Work next_work() SEMEL_EXCLUDES(mutex_);
  void add_request(Work& work, TimePoint now) SEMEL_REQUIRES(mutex_);
  Result<void> do_work(const Work& work) SEMEL_EXCLUDES(mutex_);
  Result<void> look_again(bool question_of_end) SEMEL_EXCLUDES(mutex_);
  void wait_for_something() SEMEL_EXCLUDES(mutex_);
  Error another_consumer() const;
  void lose(Error error) SEMEL_EXCLUDES(mutex_);
  void step_aside() SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  bool give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);

  // Called on the client's thread.
  void on_deliveries(std::vector<Fetched> deliveries) SEMEL_EXCLUDES(mutex_) override;
  void on_request_end(const RequestEnd& end) SEMEL_EXCLUDES(mutex_) override;
  void on_end(int status) SEMEL_EXCLUDES(mutex_) override;

  void wake() noexcept override { wake_.signal(); }
  void interrupt() noexcept SEMEL_REQUIRES(mutex_) override {}
  void cut() noexcept SEMEL_EXCLUDES(mutex_, cut_mutex_) override;
  void set_cuttable(const Client* client) SEMEL_EXCLUDES(mutex_, cut_mutex_);
  bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) override;
  bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) override {
    return ledger_.has_waiting();
  }
  std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.open(); }
  bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) override;
  std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.acks(); }
  // With in_order, after a look: sets when to begin requesting.
  void wait_for_others(TimePoint now) SEMEL_REQUIRES(mutex_);
  void warn_of_deliveries(std::uint64_t count) SEMEL_REQUIRES(mutex_);
  std::size_t worth_asking_now(TimePoint now) SEMEL_REQUIRES(mutex_);
  bool to_ask_for_end(TimePoint now) const SEMEL_REQUIRES(mutex_);

  const NatsOptions options_;
  const core::NatsSpec& spec_;
  system::EventFd wake_;  // something is there for the thread

  // Held while a connection is cut, which may wait: only the serving thread waits for it.
  system::Mutex cut_mutex_;
  const Client* cuttable_ SEMEL_GUARDED_BY(cut_mutex_) = nullptr;  // its connection may be cut

  // Used by the serving thread only.
  std::unique_ptr<Client> client_;
  std::size_t tries_ = 0;  // attempts to connect, since it last worked for some time
  TimePoint connected_at_{};
  bool horizon_asked_ = false;
  std::size_t not_there_ = 0;  // attempts that did not find a consumer that existed before
  std::string lost_;           // why the last connection ended
  std::string last_told_;      // the subject of its last acknowledgement
  core::AckPace ask_pace_ = pace_of_asking(static_cast<std::size_t>(spec_.prefetch));

  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  Requests requests_ SEMEL_GUARDED_BY(mutex_);
  ConsumerState consumer_ SEMEL_GUARDED_BY(mutex_);  // as of the last answer
  std::uint64_t generation_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::int64_t pending_ SEMEL_GUARDED_BY(mutex_) = 0;  // what waits at the server, as last told
  std::int64_t redelivered_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was connected at least once
  bool told_of_limit_ SEMEL_GUARDED_BY(mutex_) = false;
  // The last delivery's number; the numbers of one consumer grow.
  std::uint64_t last_delivery_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool made_anew_ SEMEL_GUARDED_BY(mutex_) = false;  // the consumer was replaced under its name
  // A request has ended in a way that only a look at the consumer explains.
  bool to_look_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<int> ended_ SEMEL_GUARDED_BY(mutex_);  // nothing more comes; cnats' status
  // a settlement can no longer be sent
  bool in_vain_ SEMEL_GUARDED_BY(mutex_) = false;
  TimePoint renew_at_ SEMEL_GUARDED_BY(mutex_){};
  TimePoint ask_from_ SEMEL_GUARDED_BY(mutex_){};
  TimePoint look_due_ SEMEL_GUARDED_BY(mutex_){};
  // With in_order: nothing is requested until a look has shown what others may still be given;
  // requests of a connection that broke unnoticed are over by then.
  std::optional<TimePoint> others_until_ SEMEL_GUARDED_BY(mutex_);

  // The end of the stream was asked for. The answer counts if nothing has happened meanwhile.
  TimePoint ask_end_from_ SEMEL_GUARDED_BY(mutex_){};
};

}  // namespace semel::nats
