// NatsSource: a durable consumer of a stream, pulled from on one connection.
//
// Its thread has the connection: it asks for messages as there is room for them, tells what is
// settled, renews what is worked on, and connects again.
//
// The server takes a late acknowledgement for the delivery that came after it, so it fences nobody:
// an acknowledgement is sent for what has its record, and for nothing else. Each connection is a
// generation, and a tag carries it: what is settled after the connection was lost finds nothing
// here, comes again and meets its record. A consumer that was made anew under its name ends the
// connection: its messages have the same places as others that are settled here.
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
  // Does what there is to do by now.
  struct Work {
    std::vector<std::string> acks;
    std::vector<std::string> renewals;
    std::size_t messages = 0;  // to ask for
    std::uint64_t request = 0;
    std::chrono::milliseconds request_lasts{0};
    bool look = false;
    bool question_of_end = false;
    std::optional<Error> lost;
  };

  // The serving thread's: serve.cc.
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
  void leave() SEMEL_EXCLUDES(mutex_);
  bool give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);

  // The client's thread's.
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
  // In order, after a look: from when on to ask.
  void wait_for_others(TimePoint now) SEMEL_REQUIRES(mutex_);
  void warn_of_deliveries(std::uint64_t count) SEMEL_REQUIRES(mutex_);
  std::size_t worth_asking_now(TimePoint now) SEMEL_REQUIRES(mutex_);
  bool to_ask_for_end(TimePoint now) const SEMEL_REQUIRES(mutex_);

  const NatsOptions options_;
  const core::NatsSpec& spec_;
  system::EventFd wake_;  // something is there for the thread

  // Held while a connection is cut, which may wait: nobody but the serving thread waits for it.
  system::Mutex cut_mutex_;
  const Client* cuttable_ SEMEL_GUARDED_BY(cut_mutex_) = nullptr;  // whose connection may be cut

  // The serving thread's.
  std::unique_ptr<Client> client_;
  std::size_t tries_ = 0;  // to connect, since the last time it worked for some while
  TimePoint connected_at_{};
  bool horizon_asked_ = false;
  std::size_t not_there_ = 0;  // tries that did not find a consumer which was there before
  std::string lost_;           // why the last connection ended
  std::string last_told_;      // where it last acknowledged something
  core::AckPace ask_pace_ = pace_of_asking(static_cast<std::size_t>(spec_.prefetch));

  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  Requests requests_ SEMEL_GUARDED_BY(mutex_);
  ConsumerState consumer_ SEMEL_GUARDED_BY(mutex_);  // as it was when it was last asked for
  std::uint64_t generation_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::int64_t pending_ SEMEL_GUARDED_BY(mutex_) = 0;  // what waits at the server, as last told
  std::int64_t redelivered_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was, at least once
  bool told_of_limit_ SEMEL_GUARDED_BY(mutex_) = false;
  // The last delivery's number; those of one consumer grow.
  std::uint64_t last_delivery_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool made_anew_ SEMEL_GUARDED_BY(mutex_) = false;  // another consumer has the same name
  // A request has ended in a way that only the consumer explains.
  bool to_look_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<int> ended_ SEMEL_GUARDED_BY(mutex_);  // nothing more comes, by cnats' status
  // something was settled that the server will never be told
  bool in_vain_ SEMEL_GUARDED_BY(mutex_) = false;
  TimePoint renew_at_ SEMEL_GUARDED_BY(mutex_){};
  TimePoint ask_from_ SEMEL_GUARDED_BY(mutex_){};
  TimePoint look_due_ SEMEL_GUARDED_BY(mutex_){};
  // In order: until a look has said what others may still be given, nothing is asked for; the
  // requests of somebody whose connection broke unnoticed are over by then.
  std::optional<TimePoint> others_until_ SEMEL_GUARDED_BY(mutex_);

  // The end of the stream is asked for. The answer counts where nothing has happened meanwhile.
  TimePoint ask_end_from_ SEMEL_GUARDED_BY(mutex_){};
};

}  // namespace semel::nats
