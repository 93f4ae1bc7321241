// SqsSource: a queue of SQS, asked for messages over HTTPS.
//
// A thread of its own makes all calls, several at a time, and nobody else does: long polls for
// messages, deletions of what is recorded, and renewals that keep what is open hidden from others,
// however long handlers take. What has come waits in the ledger for `receive`; the prefetch bounds
// it. A source that is paused, or whose messages nobody has room for, is just not received from.
//
// A deletion follows the record, and is tried until the service has answered. One that comes too
// late deletes nothing: the message comes again and meets its record.
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

#include "clients/sqs/client.h"
#include "core/ack_pace.h"
#include "sources/sqs/ledger.h"
#include "sources/sqs/make_sqs_source.h"
#include "sources/sqs/requests.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::sqs {

class SqsSource final : public Source {
 public:
  SqsSource(SqsOptions options, Environment& environment);
  // As a process that dies: tells nobody anything.
  ~SqsSource() override;

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  // All that is open is renewed, whether it is worked on or waits.
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  std::vector<SourceFigure> figures() override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The serving thread's.
  void run() SEMEL_EXCLUDES(mutex_);
  void look() SEMEL_EXCLUDES(mutex_);
  void take_facts(QueueFacts facts) SEMEL_EXCLUDES(mutex_);
  void poll() SEMEL_EXCLUDES(mutex_);
  void take_messages(const std::string& answer, std::uint64_t changes, bool calm)
      SEMEL_EXCLUDES(mutex_);
  void note_receives(std::int64_t receives, const std::string& message) SEMEL_REQUIRES(mutex_);
  void remove(bool all) SEMEL_EXCLUDES(mutex_);
  void removed(std::vector<std::string> receipts, const Result<std::string>& answer)
      SEMEL_EXCLUDES(mutex_);
  void renew() SEMEL_EXCLUDES(mutex_);
  void renewed(const std::vector<Ledger::Renewal>& batch, TimePoint begun,
               const Result<std::string>& answer) SEMEL_EXCLUDES(mutex_);
  void note_success() SEMEL_EXCLUDES(mutex_);
  void note_failure(Error error) SEMEL_EXCLUDES(mutex_);
  std::chrono::milliseconds patience() SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);

  // How many more messages may be received; zero while it is not worth a request.
  std::size_t room() const SEMEL_REQUIRES(mutex_);
  bool is_at_end() const SEMEL_REQUIRES(mutex_);
  void set_final(Error error) SEMEL_REQUIRES(mutex_);
  void notice(std::string text) SEMEL_REQUIRES(mutex_);
  void warn(const char* code, const std::string& text) SEMEL_REQUIRES(mutex_);
  bool stopping() SEMEL_EXCLUDES(mutex_);
  TimePoint now() const { return environment_.clock->now(); }

  const SqsOptions options_;
  const core::SqsSpec& spec_;
  Environment& environment_;
  SourceTraits traits_ = kSourceTraits;
  system::EventFd event_;  // something is here for `receive`
  Client client_;          // the serving thread's, but for wake()
  std::thread thread_;

  // The serving thread's.
  bool looking_ = false;
  bool looked_ = false;
  std::size_t polls_ = 0;         // under way
  std::size_t wanted_polls_ = 1;  // grows while each brings as much as it may
  std::size_t asked_ = 0;         // messages that these may bring
  TimePoint polls_end_{};         // when the last of them has its answer, at the latest
  std::size_t removals_ = 0;      // under way
  std::size_t removing_ = 0;      // receipts in them
  core::AckPace removal_pace_;    // each request costs money and time
  std::optional<TimePoint> renewal_due_;
  std::size_t renewals_ = 0;  // under way
  std::size_t tries_ = 0;     // in vain, since the last answer
  TimePoint again_at_{};      // nothing is asked before
  std::size_t not_there_ = 0;
  std::chrono::seconds told_skew_{0};
  std::optional<core::SqsRedrive> redrive_;
  bool told_of_last_ = false;
  bool told_of_expired_ = false;
  bool leaving_ = false;

  // The receiving thread's.
  bool more_ = false;

  system::Mutex mutex_;
  system::CondVar changed_;
  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  bool paused_all_ SEMEL_GUARDED_BY(mutex_) = false;
  bool paused_queue_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<Horizon> horizon_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> away_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> final_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);
  std::int64_t expired_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::int64_t throttled_ SEMEL_GUARDED_BY(mutex_) = 0;
  // The end is asked for: a long poll that began after the last change and has found nothing.
  std::uint64_t changes_ SEMEL_GUARDED_BY(mutex_) = 0;  // arrivals, settlements and deletions
  bool end_wanted_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> end_at_ SEMEL_GUARDED_BY(mutex_);
  bool stop_ SEMEL_GUARDED_BY(mutex_) = false;
  std::optional<TimePoint> leave_by_ SEMEL_GUARDED_BY(mutex_);
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool all_told_ SEMEL_GUARDED_BY(mutex_) = true;
};

}  // namespace semel::sqs
