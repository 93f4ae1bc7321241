// NatsSource: a durable consumer of a stream, pulled from on one connection.
//
// A thread of its own has the connection: it asks for messages as there is room for them, tells
// what is settled, renews what is worked on, and connects again. What has come waits in the ledger
// for `receive`; the prefetch bounds it. A source that is paused, or whose messages nobody has room
// for, is just not received from.
//
// The server takes a late acknowledgement for the delivery that came after it, so it fences nobody:
// an acknowledgement is sent for what has its record, and for nothing else. Each connection is a
// generation, and a tag carries it: what is settled after the connection was lost finds nothing
// here, comes again and meets its record.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/ack_pace.h"
#include "sources/nats/client.h"
#include "sources/nats/ledger.h"
#include "sources/nats/make_nats_source.h"
#include "sources/nats/requests.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::nats {

class NatsSource final : public Source, private Client::Watcher {
 public:
  NatsSource(NatsOptions options, Environment& environment);
  // As a process that dies: tells nobody anything.
  ~NatsSource() override;

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  // All that is not settled is renewed anyway.
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  std::vector<SourceFigure> figures() override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What there is to do by now.
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
  void run() SEMEL_EXCLUDES(mutex_);
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
  void lose(Error error) SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  bool give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);

  // The client's thread's.
  void on_deliveries(std::vector<Fetched> deliveries) SEMEL_EXCLUDES(mutex_) override;
  void on_request_end(const RequestEnd& end) SEMEL_EXCLUDES(mutex_) override;
  void on_end(int status) SEMEL_EXCLUDES(mutex_) override;

  void hand_out(const Ledger::Taken& taken, std::vector<Arrival>& into) const
      SEMEL_REQUIRES(mutex_);
  void warn_of_deliveries(std::uint64_t count) SEMEL_REQUIRES(mutex_);
  std::size_t worth_asking_now(TimePoint now) SEMEL_REQUIRES(mutex_);
  bool to_ask_for_end(TimePoint now) const SEMEL_REQUIRES(mutex_);
  bool is_at_end() const SEMEL_REQUIRES(mutex_);
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  void notice(std::string text) SEMEL_REQUIRES(mutex_);
  void cut() SEMEL_REQUIRES(mutex_);
  bool stopping() SEMEL_EXCLUDES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  const NatsOptions options_;
  const core::NatsSpec& spec_;
  Environment& environment_;
  SourceTraits traits_ = kSourceTraits;
  system::EventFd event_;  // something is here for `receive`
  system::EventFd wake_;   // something is there for the thread
  std::thread thread_;

  // The serving thread's.
  std::unique_ptr<Client> client_;
  std::size_t tries_ = 0;  // to connect, since the last time it worked for some while
  TimePoint connected_at_{};
  std::size_t not_there_ = 0;  // tries that did not find a consumer which was there before
  std::string lost_;           // why the last connection ended
  std::string last_told_;      // where it last acknowledged something
  core::AckPace ack_pace_{static_cast<std::size_t>(spec_.prefetch)};
  core::AckPace ask_pace_ = pace_of_asking(static_cast<std::size_t>(spec_.prefetch));

  // The receiving thread's.
  bool more_ = false;

  system::Mutex mutex_;
  system::CondVar changed_;
  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  Requests requests_ SEMEL_GUARDED_BY(mutex_);
  ConsumerState consumer_ SEMEL_GUARDED_BY(mutex_);  // as it was when it was last asked for
  std::uint64_t generation_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::int64_t pending_ SEMEL_GUARDED_BY(mutex_) = 0;  // what waits at the server, as last told
  std::int64_t redelivered_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool connected_ SEMEL_GUARDED_BY(mutex_) = false;
  bool known_ SEMEL_GUARDED_BY(mutex_) = false;  // it was, at least once
  bool paused_all_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_stream_ SEMEL_GUARDED_BY(mutex_) = false;
  bool told_of_limit_ SEMEL_GUARDED_BY(mutex_) = false;
  // A request has ended in a way that only the consumer explains.
  bool to_look_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<int> ended_ SEMEL_GUARDED_BY(mutex_);  // nothing more comes, by cnats' status
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  const Client* cuttable_ SEMEL_GUARDED_BY(mutex_) = nullptr;  // whose connection may be cut
  // something was settled that the server will never be told
  bool in_vain_ SEMEL_GUARDED_BY(mutex_) = false;
  TimePoint renew_at_ SEMEL_GUARDED_BY(mutex_){};
  TimePoint ask_from_ SEMEL_GUARDED_BY(mutex_){};

  // The end of the stream is asked for. The answer counts where nothing has happened meanwhile.
  std::uint64_t changes_ SEMEL_GUARDED_BY(mutex_) = 0;  // arrivals and settlements
  bool end_wanted_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> end_at_ SEMEL_GUARDED_BY(mutex_);
  TimePoint ask_end_from_ SEMEL_GUARDED_BY(mutex_){};

  bool stop_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<TimePoint> leave_by_ SEMEL_GUARDED_BY(mutex_);
  bool left_ SEMEL_GUARDED_BY(mutex_) = false;
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool all_told_ SEMEL_GUARDED_BY(mutex_) = true;
};

}  // namespace semel::nats
